"""What ragit runs on: the member `runtime` of status."""

from __future__ import annotations

import platform
import sys
from typing import Any, Final

__all__ = ["MINIMUM_PYTHON", "MINIMUM_SQLITE", "describe_runtime", "sqlite_version"]

MINIMUM_PYTHON: Final = (3, 11)
#: Oldest SQLite whose features the store uses; the bundled one is newer.
MINIMUM_SQLITE: Final = (3, 41)


def describe_runtime() -> dict[str, Any]:
    """Python, platform and SQLite, each with whether it serves."""
    sqlite = sqlite_version()
    return {
        "python": {
            "current": platform.python_version(),
            "minimum": _dotted(MINIMUM_PYTHON),
            "supported": sys.version_info[:2] >= MINIMUM_PYTHON,
        },
        "platform": {
            "current": f"{sys.platform}/{platform.machine().lower() or 'unknown'}",
            "supported": True,
        },
        "sqlite": {
            "current": sqlite,
            "minimum": _dotted(MINIMUM_SQLITE),
            "supported": sqlite is not None and _numbers(sqlite) >= MINIMUM_SQLITE,
        },
    }


def sqlite_version() -> str | None:
    """Version of the SQLite in use; None if apsw cannot be loaded here."""
    try:
        import apsw  # the library is only loaded by who asks about it
    except ImportError:
        return None
    return str(apsw.sqlite_lib_version())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
