"""Nothing that looks like a secret leaves the machine in a review, unless the host says so.

The rules are `mcpkit.secrets`': shapes of known tokens, private keys, headers, connection strings, assignments to names
that announce a secret. Values that documentation shows everywhere do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import usage
from mergestorm_mcp.text import one_line

__all__ = ["ALLOW_SECRETS", "refuse_secrets"]

ALLOW_SECRETS: Final = "MERGESTORM_ALLOW_SECRETS"
"""Variable with which the host allows it: 1, true, yes or on."""


def refuse_secrets(
    environment: Environment,
    texts: Iterable[tuple[str, str]],
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Refuse texts that hold a secret. Blocking and linear in their length.

    Args:
        environment: where the host may have allowed them.
        texts: name and text of each part of a submission.
        cancelled: asked between texts; the rest is then left alone, because nobody will send it.

    Raises:
        CommandError: `usage` (exit 2); names the part, the line and the kind, never the secret.
    """
    if environment.text(ALLOW_SECRETS).casefold() in {"1", "true", "yes", "on"}:
        return
    from mcpkit.secrets import find_secrets  # compiles its rules, which only a submission needs

    for name, text in texts:
        if cancelled():
            return
        for finding in find_secrets(text):
            if not finding.example:
                line = text.count("\n", 0, finding.start) + 1
                raise usage(
                    f"{one_line(name, 200)} seems to hold a secret ({finding.kind}, line {line}); nothing was sent. Take it "
                    f"out of the change, or ask the host to set {ALLOW_SECRETS}=1 if it is none."
                )
