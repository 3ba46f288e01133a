"""A store that stays open between calls and follows the pointer: what a server keeps.

A call works on one generation from beginning to end. When another one is published, the next call opens it; the older
one is closed when the last call that uses it has ended.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from ragit_mcp.store.layout import read_pointer
from ragit_mcp.store.reader import Store, open_store

__all__ = ["StoreHolder"]


class StoreHolder:
    """Keeps one repository's store open; usable from several threads.

    Args:
        root: the repository's root.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._lock = threading.Lock()
        self._current: Store | None = None
        self._users: dict[Store, int] = {}

    @contextlib.contextmanager
    def use(self) -> Iterator[Store]:
        """The current generation, open at least until the block ends.

        Raises:
            SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, as `open_store`.
        """
        store = self._borrow()
        try:
            yield store
        finally:
            self._give_back(store)

    def close(self) -> None:
        """Close the store; calls that use it finish first."""
        with self._lock:
            self._retire()

    def _borrow(self) -> Store:
        pointer = read_pointer(self._root)
        with self._lock:
            if self._current is None or self._current.pointer != pointer:
                fresh = open_store(self._root)
                self._retire()
                self._current = fresh
            self._users[self._current] = self._users.get(self._current, 0) + 1
            return self._current

    def _give_back(self, store: Store) -> None:
        with self._lock:
            self._users[store] -= 1
            if not self._users[store]:
                del self._users[store]
                if store is not self._current:
                    store.close()

    def _retire(self) -> None:
        store, self._current = self._current, None
        if store is not None and store not in self._users:
            store.close()
