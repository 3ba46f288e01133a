"""Keeps a server's configuration out of reach of the folder it is started in.

FastMCP reads its settings from `FASTMCP_*` variables and from a `.env` file in the working directory, at the
moment it is first imported. A server started inside a checkout that somebody else wrote must not be configurable
by that checkout, so both sources are shut before the import. Standard library only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping

__all__ = ["seal_settings"]

_PREFIX = "FASTMCP_"

# What FastMCP finds instead: no settings file, no look for newer releases, no rich log handler.
_SEALED = {
    "FASTMCP_ENV_FILE": os.devnull,
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "FASTMCP_LOG_ENABLED": "false",
    "FASTMCP_SHOW_SERVER_BANNER": "false",
}


def seal_settings(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove every `FASTMCP_*` setting of the caller and fix the few that FastMCP must find.

    Call it before anything imports `fastmcp`. Calling it again is harmless.

    Args:
        environ: the environment to change; the process's own unless a test says otherwise.

    Raises:
        RuntimeError: `fastmcp` is imported already with settings that were not sealed.
    """
    sealed = all(environ.get(name) == value for name, value in _SEALED.items())
    if environ is os.environ and not sealed and "fastmcp.settings" in sys.modules:
        raise RuntimeError("seal_settings must run before fastmcp is imported")
    for name in [name for name in environ if name.upper().startswith(_PREFIX)]:
        del environ[name]
    environ.update(_SEALED)
