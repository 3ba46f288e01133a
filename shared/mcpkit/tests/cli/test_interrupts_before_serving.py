"""An interrupt while a program still checks what it was given ends it without a traceback."""

from __future__ import annotations

import pytest

from mcpkit.cli import EXIT_INTERRUPTED, CommandLine, Parsed, run


def test_an_interrupt_during_the_checks_is_an_exit_code_and_no_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_parsed: Parsed) -> int:
        raise KeyboardInterrupt

    assert run(CommandLine("program", "1", "A program.", []), interrupted, []) == EXIT_INTERRUPTED
    assert capsys.readouterr() == ("", "")
