"""What a server remembers of snapshots between calls, so that selecting one again costs what has changed.

Nothing is taken on trust that could have changed: a manifest is remembered beside its file's status and read again when
that differs (the rules are those of `mcpkit.git.memory`); that a commit brings no index of its own, and what its tree
is, belongs to the commit's id for good. HEAD, the links on the way to `.ragit`, and every file's status are looked at
each time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mcpkit.git import Repository
from mcpkit.git.memory import FileStamp, StateMemory, file_stamp, is_at_rest, keep
from ragit_mcp.snapshots.manifest import Manifest, manifest_path, read_manifest
from ragit_mcp.snapshots.repository import refuse_tracked_index

__all__ = ["SnapshotMemory"]

_KEPT_MANIFESTS: Final = 64
_KEPT_COMMITS: Final = 1_024


class SnapshotMemory:
    """Of one repository; usable from several threads.

    Args:
        now: nanoseconds since the epoch, as files are dated.

    Attributes:
        work_tree: what is remembered of the work tree.
    """

    def __init__(self, now: Callable[[], int] = time.time_ns) -> None:
        self.work_tree = StateMemory(now)
        self._now = now
        self._lock = threading.Lock()
        self._manifests: OrderedDict[tuple[str, str], tuple[FileStamp, Manifest]] = OrderedDict()
        self._clean_commits: OrderedDict[str, None] = OrderedDict()

    def manifest(self, root: str, commit: str) -> Manifest | None:
        """As `read_manifest`, but without the lists of documents, chunks and artifacts: 100,000 passages weigh 60 MB.

        Raises:
            SnapshotError: as `read_manifest`; no error is remembered.
        """
        now, stamp = self._now(), file_stamp(os.path.join(root, *manifest_path(commit).split("/")))
        key = (root, commit)
        with self._lock:
            known = self._manifests.get(key)
            if known is not None and known[0] == stamp:
                self._manifests.move_to_end(key)
                return known[1]
        read = read_manifest(root, commit)
        if read is None:
            return None
        manifest = read.without_lists()
        if stamp is not None and is_at_rest(stamp, now):
            with self._lock:
                keep(self._manifests, key, (stamp, manifest), _KEPT_MANIFESTS)
        return manifest

    def refuse_tracked_index(self, repository: Repository, commit: str | None) -> None:
        """As `repository.refuse_tracked_index`; a commit that passed once passes.

        Raises:
            SnapshotError: as there.
        """
        with self._lock:
            if commit in self._clean_commits:
                return
        refuse_tracked_index(repository, commit)
        if commit is not None:
            with self._lock:
                keep(self._clean_commits, commit, None, _KEPT_COMMITS)
