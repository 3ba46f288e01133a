"""Keeps reading below the repository root when the operator asks for it.

Links are resolved by the operating system; what counts is where they end. A file is checked while it is open: the
path without links is walked from the root folder by folder, following none, and must end at the very file that was
opened. A link that is put in place of a folder or file meanwhile can therefore lead nobody astray, however it is timed.
"""

from __future__ import annotations

import os
from typing import Final

from .reading import FileReplaced, FileSystem, ReadFault, read_fault

_OUTSIDE = "leads outside the repository root, which --confine forbids"

# What opens a folder for the walk: never a link, and where the system can, without asking for the right to list it.
_FOLDER_FLAGS: Final = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_CAN_WALK: Final = {os.open, os.stat} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class Confinement:
    """A root that nothing may leave."""

    def __init__(self, root: str, system: FileSystem) -> None:
        """Resolve the root once.

        Args:
            root: Absolute path; may itself be reached through links.
            system: The disk.
        """
        self._root = root
        self._real = os.path.realpath(root)
        self._system = system

    def require_written_inside(self, path: str) -> None:
        """Refuse a path that leaves the root by how it is written, whatever is on disk.

        Raises:
            ReadFault: It does.
        """
        if not is_within(self._root, os.path.normpath(path)):
            raise ReadFault(_OUTSIDE)

    def require_inside(self, path: str) -> str:
        """Refuse a path that ends outside the root once links are followed.

        Returns:
            The path without links.

        Raises:
            ReadFault: It does.
        """
        real = os.path.realpath(path)
        if not is_within(self._real, real):
            raise ReadFault(_OUTSIDE)
        return real

    def require_opened_inside(self, path: str, opened: os.stat_result) -> None:
        """Refuse an open file that is not the one inside the root that the path names.

        Raises:
            FileReplaced: Something else is there by now, as after an editor has saved; opening again may do.
            ReadFault: The path leads outside.
        """
        real = self.require_inside(path)
        try:
            named = self._without_links(real)
        except PermissionError as error:
            raise read_fault(error) from None
        except OSError:  # gone, or a link by now: systems disagree about which error that is
            raise FileReplaced from None
        if (named.st_ino, named.st_dev) != (opened.st_ino, opened.st_dev):
            raise FileReplaced

    def _without_links(self, real: str) -> os.stat_result:
        """The status of what a path below the root names when no link on the way is followed.

        Raises:
            OSError: Nothing is there, or a link is.
        """
        if not _CAN_WALK:
            return self._system.stat(real)
        names = [name for name in real[len(self._real) :].split(os.sep) if name]
        if not names:
            return os.lstat(real)
        folder = os.open(self._real, _FOLDER_FLAGS)
        try:
            for name in names[:-1]:
                below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = below
            return os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        finally:
            os.close(folder)


def is_within(folder: str, path: str) -> bool:
    """Whether an absolute normal path is the folder or below it, component by component."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
