"""Keeps reading below the repository root when the operator asks for it.

Links are resolved by the operating system; what counts is where they end. A file is checked while it is open, by
comparing what was opened with what the resolved path names, so a link that is turned between the two is refused.
"""

from __future__ import annotations

import os

from .reading import FileSystem, ReadFault

_OUTSIDE = "leads outside the repository root, which --confine forbids"


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
            ReadFault: It is another, or none.
        """
        real = self.require_inside(path)
        try:
            named = self._system.stat(real)
        except OSError:
            raise ReadFault(_OUTSIDE) from None
        if (named.st_ino, named.st_dev) != (opened.st_ino, opened.st_dev):
            raise ReadFault(_OUTSIDE)


def is_within(folder: str, path: str) -> bool:
    """Whether an absolute normal path is the folder or below it, component by component."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
