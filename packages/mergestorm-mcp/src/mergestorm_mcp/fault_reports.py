"""What is written to stderr about a fault of ours: the whole traceback, without keys.

An exception's own words may hold what it was working on, a header with a key among it. So reports of faults go through
here before they are written: the key in use is replaced wherever it stands, then whatever mcpkit's rules know as a
secret. Nothing is loaded before there is a fault.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

from mergestorm_mcp.config import Environment, load_config

__all__ = ["MaskedReports", "mask_reports", "masked_report"]

_HIDDEN: Final = "[key hidden]"


def masked_report(error: BaseException, environment: Environment) -> str:
    """The traceback of an error, fit to be shown."""
    return _masked("".join(traceback.format_exception(error)), environment)


class MaskedReports(logging.Filter):
    """Masks log records, traceback included.

    Args:
        environment: where the key is that must not appear.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite a record; it is always kept."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
        record.msg, record.args, record.exc_info, record.exc_text = (
            _masked(text.rstrip("\n"), self._environment),
            (),
            None,
            None,
        )
        return True


def mask_reports(environment: Environment) -> None:
    """Mask what this process logs about faults: the handler of mcpkit, FastMCP and the SDK, and asyncio's own reports."""
    masked = MaskedReports(environment)
    targets: list[logging.Filterer] = [logging.getLogger("asyncio"), *logging.getLogger("mcpkit").handlers]
    for target in targets:
        for earlier in [item for item in target.filters if isinstance(item, MaskedReports)]:
            target.removeFilter(earlier)
        target.addFilter(masked)


def _masked(text: str, environment: Environment) -> str:
    from mcpkit.secrets import mask  # compiles its rules

    for key in (environment.text("MERGESTORM_API_KEY"), load_config(environment).api_key):
        if key:
            text = text.replace(key, _HIDDEN)
    return mask(text).text
