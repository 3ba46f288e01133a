"""Arguments are checked as JSON Schema says, and published plainly."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from mcpkit import inputs
from mcpkit.errors import InvalidArguments
from mcpkit.inputs import ABSENT, ArgumentModel, JsonInteger, NullableBoolean, NullAccepted


class Place(BaseModel):
    """Where."""

    model_config = {"extra": "forbid", "strict": True}

    city: Annotated[str, Field(description="City.")]
    zip: Annotated[str | None, Field(description="Code.")] = None


class Tree(BaseModel):
    children: list[Tree] = []


async def tool(
    name: Annotated[str, Field(description="Which.")],
    count: Annotated[JsonInteger, Field(description="How many.", ge=1)] = 1,
    flag: Annotated[bool, Field(description="Whether.")] = False,
    size: Annotated[float | None, Field(description="How big.")] = None,
    tags: Annotated[list[str] | None, NullAccepted, Field(description="Labels.")] = None,
    mode: Annotated[Literal["a", "b"] | None, Field(description="How.")] = None,
    place: Annotated[Place | None, Field(description="Where.")] = None,
) -> dict[str, Any]:
    return {}


MODEL = ArgumentModel(tool)


def test_good_arguments_come_back_and_absent_ones_stay_absent() -> None:
    assert MODEL.check({"name": "x"}) == {"name": "x"}
    assert MODEL.check({"name": "x", "count": 2, "flag": True, "size": 1}) == {
        "name": "x",
        "count": 2,
        "flag": True,
        "size": 1.0,
    }
    assert MODEL.check({"name": "x", "place": {"city": "Ulm"}})["place"] == Place(city="Ulm")


@pytest.mark.parametrize("value", [1, 1.0, 1e3, 10**30])
def test_a_number_without_fraction_is_an_integer(value: Any) -> None:
    checked = MODEL.check({"name": "x", "count": value})["count"]
    assert checked == value
    assert type(checked) is int


@pytest.mark.parametrize(
    ("arguments", "field", "reason"),
    [
        ({}, "name", "is required"),
        ({"name": 1}, "name", "must be a string"),
        ({"name": None}, "name", "must be a string"),
        ({"name": "x", "count": "10"}, "count", "must be an integer"),
        ({"name": "x", "count": True}, "count", "must be an integer"),
        ({"name": "x", "count": 1.5}, "count", "must be an integer"),
        ({"name": "x", "count": None}, "count", "must be an integer"),
        ({"name": "x", "flag": 1}, "flag", "must be true or false"),
        ({"name": "x", "flag": "true"}, "flag", "must be true or false"),
        ({"name": "x", "size": "1"}, "size", "must be a number"),
        ({"name": "x", "size": None}, "size", "must be a number or be left out"),
        ({"name": "x", "tags": "a"}, "tags", "must be an array"),
        ({"name": "x", "tags": ["a", 1]}, "tags.1", "must be a string"),
        ({"name": "x", "place": []}, "place", "must be an object"),
        ({"name": "x", "place": {}}, "place.city", "is required"),
        ({"name": "x", "other": 1}, "other", "is not an argument of this tool"),
        ({"name": "x", "place": {"city": "y", "a": 1}}, "place.a", "is not an argument of this tool"),
    ],
)
def test_what_does_not_fit_is_named_by_field_and_reason(
    arguments: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        MODEL.check(arguments)
    assert (caught.value.field, caught.value.reason) == (field, reason)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": ["SECRET"]},
        {"name": "x", "count": "SECRET"},
        {"name": "x", "mode": "SECRET"},
        {"name": "x", "size": "SECRET"},
        {"name": "x", "tags": ["a", {"b": "SECRET"}]},
        {"name": "x", "place": {"city": 5, "zip": "SECRET"}},
        {"name": "x", "count": -5555555},
    ],
)
def test_a_message_never_repeats_the_value(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments) as caught:
        MODEL.check(arguments)
    assert "SECRET" not in caught.value.message
    assert "5555555" not in caught.value.message


def test_null_counts_as_absent_only_where_it_is_accepted() -> None:
    assert MODEL.check({"name": "x", "tags": None}) == {"name": "x"}
    with pytest.raises(InvalidArguments):
        MODEL.check({"name": "x", "mode": None})


def test_a_hostile_argument_name_is_shown_short_and_printable() -> None:
    with pytest.raises(InvalidArguments) as caught:
        MODEL.check({"name": "x", "\x1b[31m" + "y" * 10_000: 1})
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 300


def test_the_published_schema_is_plain() -> None:
    schema = MODEL.schema
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "How many.",
    }
    assert schema["properties"]["tags"] == {
        "type": "array",
        "items": {"type": "string"},
        "description": "Labels.",
    }
    assert schema["properties"]["mode"]["enum"] == ["a", "b"]
    assert schema["properties"]["place"]["properties"]["zip"] == {"type": "string", "description": "Code."}
    text = repr(schema)
    assert "$ref" not in text
    assert "null" not in text
    assert "None" not in text
    assert "'title'" not in text


def test_a_tool_without_arguments_takes_none() -> None:
    async def bare() -> dict[str, Any]:
        return {}

    model = ArgumentModel(bare)
    assert model.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert model.check({}) == {}
    with pytest.raises(InvalidArguments):
        model.check({"x": 1})


def test_an_argument_called_title_keeps_its_name() -> None:
    async def named(title: Annotated[str, Field(description="Title.")]) -> dict[str, Any]:
        return {}

    assert list(ArgumentModel(named).schema["properties"]) == ["title"]


def test_tools_that_cannot_be_published_are_refused_when_they_are_declared() -> None:
    async def bare(x) -> dict[str, Any]:  # type: ignore[no-untyped-def]
        return {}

    async def positional(x: int, /) -> dict[str, Any]:
        return {}

    async def many(*x: int) -> dict[str, Any]:
        return {}

    async def recursive(x: Tree) -> dict[str, Any]:
        return {}

    for function in (bare, positional, many, recursive):
        with pytest.raises(TypeError):
            ArgumentModel(function)


def test_the_declared_arguments_can_be_read() -> None:
    assert list(MODEL.fields) == ["name", "count", "flag", "size", "tags", "mode", "place"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["name", "count", "flag", "size", "tags", "mode", "place", "x"]), json_values
    )
)
def test_any_json_is_either_taken_with_the_right_types_or_refused_by_name(arguments: dict[str, Any]) -> None:
    try:
        checked = MODEL.check(arguments)
    except InvalidArguments:
        return
    assert isinstance(checked["name"], str)
    assert type(checked.get("count", 1)) is int
    assert type(checked.get("flag", False)) is bool
    assert set(checked) <= set(arguments)


def test_null_is_told_from_left_out_where_it_means_something() -> None:
    def change(switch: Annotated[NullableBoolean, Field(description="A switch.")] = ABSENT) -> None: ...

    model = ArgumentModel(change)
    assert model.schema["properties"]["switch"] == {"enum": [True, False, None], "description": "A switch."}
    assert model.check({}) == {}
    assert model.check({"switch": None}) == {"switch": None}
    assert model.check({"switch": False}) == {"switch": False}
    with pytest.raises(InvalidArguments):
        model.check({"switch": 1})
    assert inputs.given(one=ABSENT, two=None, three=0) == {"two": None, "three": 0}


def test_a_word_that_python_keeps_is_an_argument_by_its_own_name() -> None:
    def move(
        from_: Annotated[str, Field(description="Where from.")], pass_: JsonInteger | None = None
    ) -> None: ...

    model = ArgumentModel(move)
    assert (list(model.schema["properties"]), model.schema["required"]) == (["from", "pass"], ["from"])
    assert model.check({"from": "a", "pass": 2.0}) == {"from_": "a", "pass_": 2}
    for wrong, field in (
        ({"from_": "a"}, "from"),
        ({"from": "a", "pass": None}, "pass"),
        ({"from": "a", "pass_": 1}, "pass_"),
    ):
        with pytest.raises(InvalidArguments) as refused:
            model.check(wrong)
        assert refused.value.field == field
