"""The one SQLite file everything is kept in.

A request changes what it changes in one `write()`: kill -9 at any moment leaves all of it or none. Writers take turns
under a lock of the process and `BEGIN IMMEDIATE`; readers never wait, each sees the state of the moment it began.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["Store", "StoreError"]

_BUSY_SECONDS: Final = 10.0
_IDLE_READERS: Final = 8


class StoreError(Exception):
    """The file cannot be used as a database of this service."""


class Store:
    """One database file.

    Args:
        path: the file; made if it is not there, readable by its owner only.
        on_commit: called after every write that changed something, on the writer's thread.

    Raises:
        StoreError: the file is no database, or cannot be opened.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, on_commit: Callable[[], object] | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.on_commit = on_commit
        self._turn = threading.Lock()
        self._writing: int | None = None
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._closed = False
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
            self._writer = self._connect()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path} cannot be opened as a database: {error}") from error

    def create(self, schemas: Iterable[str], *, version: int = 1) -> None:
        """Make the tables, if they are not there.

        Args:
            schemas: statements that change nothing where a table exists (`CREATE TABLE IF NOT EXISTS`).
            version: number of this arrangement of tables.

        Raises:
            StoreError: the file was made by another arrangement.
        """
        with self.write() as connection:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found not in {0, version}:
                raise StoreError(f"{self.path} was made by another version of the service; use a new folder")
            for statement in _statements("\n".join(schemas)):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {int(version)}")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one moment and cannot change anything."""
        connection = self._borrow()
        try:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()
        finally:
            self._give_back(connection)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are kept together at the end, or not at all if the body raises.

        Raises:
            RuntimeError: the same thread is writing already; pass its connection on instead.
        """
        me = threading.get_ident()
        if self._writing == me:
            raise RuntimeError("a write inside a write: pass the connection on")
        with self._turn:
            self._writing = me
            try:
                connection = self._writer
                before = connection.total_changes
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
                changed = connection.total_changes != before
            finally:
                self._writing = None
        if changed and self.on_commit is not None:
            self.on_commit()

    def close(self) -> None:
        """Close every connection that is not in use; the others close when they are given back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        with self._turn:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        # Autocommit: transactions begin and end where this module says, never behind its back. A connection serves one
        # thread at a time, not always the same one.
        connection = sqlite3.connect(
            self.path,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _borrow(self) -> sqlite3.Connection:
        with self._guard:
            if self._closed:
                raise StoreError("the store is closed")
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if not self._closed and len(self._idle) < _IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would end the transaction it runs in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            if statement.strip():
                yield statement
            statement = ""
    if statement.strip():
        yield statement
