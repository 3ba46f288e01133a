"""The command line `ragit`: indexes documents, and asks what they say.

catalogue     every command with its flags, help and examples: the one list that the rest follows
parsing       a command line as an invocation: flags in any position, `--`
help_text     help pages, drawn from the catalogue
application   runs a command; what it answers, fails with or breaks on becomes output and an exit code
envelope      the JSON that programs get, and which format is meant
context       what a command knows: invocation, repository, configuration
input_document  `--input`
wording       numbers with their nouns
highlighting  the words of a question in a passage
screen        tables, colour and passages
progress      how far an ingest is
commands      one module a command

Writing, and keeping the control characters of documents off the terminal, are `mcpkit.terminal`'s.

Importing this package costs nothing; each command imports what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script.

    Args:
        arguments: `sys.argv[1:]` unless given.

    Returns:
        0 when all is well; 1 for failed checks, a wrong command line and unexpected errors; 2, 3 or 4 by the category of
        an operational failure (contract A15); 130 after an interrupt.
    """
    try:
        from ragit_mcp.cli.application import (
            run,  # inside, so that an interrupt meanwhile ends quietly as well
        )

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return 130
