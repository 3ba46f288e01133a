"""However many arguments are wrong, the one that is told is the one that would be told among few."""

from __future__ import annotations

import pytest

from mcpkit.errors import InvalidArguments
from mcpkit.inputs import ArgumentModel


async def tool(entity: str, id: str = "") -> dict[str, str]:  # noqa: A002 - as on the wire
    return {"entity": entity, "id": id}


def test_the_first_unknown_argument_is_told_however_many_there_are() -> None:
    for count in (1, 100, 10_000):
        with pytest.raises(InvalidArguments) as caught:
            ArgumentModel(tool).check({"entity": "e", **{f"x{number}": 1 for number in range(count)}})
        assert caught.value.payload()["field"] == "x0"


def test_a_fault_of_a_known_argument_comes_first_wherever_it_stands_among_unknown_ones() -> None:
    arguments: dict[str, object] = {f"x{number}": 1 for number in range(10_000)}
    with pytest.raises(InvalidArguments) as caught:
        ArgumentModel(tool).check({**arguments, "entity": 5})
    assert caught.value.payload()["field"] == "entity"
    with pytest.raises(InvalidArguments) as caught:
        ArgumentModel(tool).check(arguments)
    assert caught.value.payload()["field"] == "entity"
