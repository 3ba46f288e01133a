"""An expression that RE2 compiles to many states takes time by its size: the budget of a selector knows that."""

from __future__ import annotations

import pytest

from mergeway_mcp.repository.selectors import SelectorFault, compile_selector


@pytest.mark.parametrize("expression", ["(a?){1000}", "(a|b)*a(a|b){200}", ".{0,300}.{0,300}"])
def test_a_large_expression_on_many_short_texts_ends_in_a_fault(expression: str) -> None:
    document = [{"t": "ab" * 25} for _ in range(20_000)]
    with pytest.raises(SelectorFault):
        compile_selector(f"$[?search(@.t, '{expression}')]").find(document)


def test_an_ordinary_expression_on_as_many_texts_is_served() -> None:
    document = [{"t": "ab" * 25} for _ in range(20_000)]
    assert len(compile_selector("$[?match(@.t, '[a-z]+')]").find(document)) == 20_000
