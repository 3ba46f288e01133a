"""A generation's file opened for reading, on the assumption that somebody prepared it.

`immutable=1` makes SQLite take no lock and leave no file beside the database; a published generation never changes.
Nothing in the file can make SQLite do more than read: no trigger, view or expression of the schema is trusted, the
schema must be the one of `schema`, sizes must agree with each other and with the pointer, and every statement is one of
ours. sqlite-vec is loaded only for the one call that needs it, and extension loading is off again afterwards.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcpkit.files import FileAccessError, locate_below
from ragit_mcp.store.layout import SCHEMA_VERSION, STORE_DIR, store_unavailable
from ragit_mcp.store.schema import APPLICATION_ID, PAGE_SIZE, SHADOW_TABLES, TABLES

if TYPE_CHECKING:
    import apsw

__all__ = [
    "check_schema",
    "coded_sqlite_errors",
    "generation_path",
    "harden",
    "load_vector_extension",
    "open_generation",
]

_MAX_LENGTH: Final = 256 << 20
_CACHE_KIB: Final = 16 * 1024
_MAPPED_BYTES: Final = 1 << 30


def generation_path(root: str | os.PathLike[str], name: str, size: int) -> str:
    """The absolute path of a generation's file, after a look at it.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `missing`, `link`, `unreadable` or `corrupt` (size).
    """
    try:
        found = locate_below(root, f"{STORE_DIR}/{name}")
    except FileAccessError as error:
        reasons = {"not_found": "missing", "link_refused": "link"}
        raise store_unavailable(reasons.get(error.kind, "unreadable")) from None
    if found.stat.st_size != size or size < PAGE_SIZE or size % PAGE_SIZE:
        raise store_unavailable("corrupt")
    return os.path.join(os.path.realpath(root), *STORE_DIR.split("/"), name)


def open_generation(path: str, size: int) -> apsw.Connection:
    """Open a generation read-only and check that its tables are ours.

    Args:
        path: of `generation_path`.
        size: its size in bytes.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`, `unsupported` or `unreadable`.
    """
    import apsw  # heavy; only where a store is opened

    _check_header(path)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    with coded_sqlite_errors():
        connection = apsw.Connection(f"file:{_uri_path(path)}?mode=ro&immutable=1", flags=flags)
        try:
            harden(connection)
            _check(connection, size)
        except BaseException:
            connection.close()
            raise
    return connection


def harden(connection: apsw.Connection) -> None:
    """Switch off whatever a prepared file could use."""
    import apsw

    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_LENGTH)
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in (
        "trusted_schema=OFF",
        "cell_size_check=ON",
        f"cache_size=-{_CACHE_KIB}",
        "temp_store=MEMORY",
    ):
        connection.pragma(*_pair(pragma))


def load_vector_extension(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection; nothing else can be loaded before or after."""
    import sqlite_vec  # type: ignore[import-untyped]

    connection.enable_load_extension(True)
    try:
        connection.load_extension(sqlite_vec.loadable_path(), "sqlite3_vec_init")
    finally:
        connection.enable_load_extension(False)


@contextlib.contextmanager
def coded_sqlite_errors() -> Iterator[None]:
    """Report what SQLite refuses to read as a store that cannot be used."""
    import apsw

    try:
        yield
    except (apsw.CantOpenError, apsw.IOError, apsw.PermissionsError, apsw.NoMemError) as error:
        raise store_unavailable("unreadable") from error
    except (apsw.Error, UnicodeDecodeError) as error:  # the latter for a text that is not UTF-8
        raise store_unavailable("corrupt") from error


def _check_header(path: str) -> None:
    """Make sure that SQLite will see a database without write-ahead log; with one it would ignore what is in it."""
    try:
        with open(path, "rb", buffering=0) as file:
            header = file.read(20)
    except OSError:
        raise store_unavailable("unreadable") from None
    if header[:16] != b"SQLite format 3\0" or header[18:20] != b"\x01\x01":
        raise store_unavailable("corrupt")


def _check(connection: apsw.Connection, size: int) -> None:
    version = connection.pragma("user_version")
    if connection.pragma("application_id") != APPLICATION_ID:
        raise store_unavailable("corrupt")
    if version != SCHEMA_VERSION:
        raise store_unavailable("unsupported")
    if connection.pragma("page_size") != PAGE_SIZE or connection.pragma("page_count") * PAGE_SIZE != size:
        raise store_unavailable("corrupt")
    check_schema(connection)
    connection.pragma("query_only", True)
    connection.pragma("mmap_size", min(size, _MAPPED_BYTES))


def check_schema(connection: apsw.Connection) -> int:
    """Make sure that the tables are exactly ours; the number of dimensions of the vectors.

    Raises:
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `corrupt`.
    """
    dimensions = 0
    found: set[str] = set()
    statement = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    for kind, name, table, sql in connection.execute(statement):
        if kind == "index" and sql is None and (table in TABLES or table in SHADOW_TABLES):
            continue  # made by a UNIQUE constraint
        if kind != "table" or name != table or not isinstance(sql, str):
            raise store_unavailable("corrupt")
        if name == "vectors":
            dimensions = _dimensions(sql)
        elif name in TABLES:
            if sql != TABLES[name]:
                raise store_unavailable("corrupt")
        elif name not in SHADOW_TABLES or not sql.startswith("CREATE TABLE "):
            raise store_unavailable("corrupt")
        found.add(name)
    if not found.issuperset(TABLES):
        raise store_unavailable("corrupt")
    return dimensions


def _dimensions(sql: str) -> int:
    before, after = TABLES["vectors"].split("{dimensions}")
    number = sql.removeprefix(before).removesuffix(after)
    if not (sql.startswith(before) and sql.endswith(after) and number.isdigit() and len(number) <= 6):
        raise store_unavailable("corrupt")
    return int(number)


def _uri_path(path: str) -> str:
    if sys.platform == "win32":
        return "///" + quote(path.replace("\\", "/"), safe="/:")
    return quote(os.fsencode(path), safe="/")


def _pair(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, value
