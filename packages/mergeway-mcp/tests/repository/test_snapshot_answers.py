"""What a snapshot answers, beyond the recorded calls: parts of answers, values, order and shared identifiers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.repository import (
    InvalidArgument,
    ObjectNotFound,
    Repository,
    RepositoryError,
    Snapshot,
    UnknownEntity,
    require_argument,
)
from mergeway_mcp.repository.values import MAX_DEPTH, NotJson, to_json
from mergeway_mcp.repository.yaml import Timestamp

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = """\
mergeway: {version: 1}
entities:
  A: {identifier: id, include: ['a/*'], fields: {id: string}}
  B: {identifier: id, include: ['b/*'], fields: {id: string}}
  C: {identifier: id, include: ['c/*'], fields: {id: string}}
  P: {identifier: $path, include: ['p/*'], fields: {x: string}}
"""


@pytest.fixture
def snapshot(write_repository: Write) -> Snapshot:
    root = write_repository({
        "mergeway.yaml": CONFIG,
        "a/1.yaml": "items: [{id: b, n: 1}, {id: a, n: 2}, {id: b, n: 3}]\n",
        "a/2.yaml": "items: [{id: a, n: 4}, {id: c, n: 5}]\n",
        "c/1.yaml": "items: [{id: z, v: 2020-01-01, w: 1.0}]\n",
        "p/x.yaml": "x: 1\n",
        "p/empty.yaml": "",
    })
    return Repository(str(root)).snapshot()


def test_equal_identifiers_stay_in_load_order(snapshot: Snapshot) -> None:
    assert [record["n"] for record in snapshot.export(["A"])["A"]] == [2, 4, 1, 3, 5]
    assert snapshot.get("A", "a")["fields"]["n"] == 2


def test_a_part_of_a_list_is_that_part_of_the_whole(snapshot: Snapshot) -> None:
    whole = snapshot.objects("A")
    assert snapshot.object_count("A") == len(whole) == 5
    for start in range(6):
        for stop in (*range(7), None):
            assert snapshot.objects("A", start=start, stop=stop) == whole[start:stop]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 10])
def test_the_parts_of_an_export_make_up_the_whole(snapshot: Snapshot, size: int) -> None:
    names = ["A", "B", "C"]
    whole = snapshot.export(names)
    count = snapshot.export_count(names)
    assert count == 6
    joined: dict[str, list[Any]] = {}
    for start in range(0, count, size):
        part = snapshot.export(names, start=start, stop=start + size)
        assert sum(map(len, part.values())) == min(size, count - start)
        for name, records in part.items():
            joined.setdefault(name, []).extend(records)
    assert joined == whole
    assert list(joined) == names


def test_only_the_fields_asked_for_are_returned_and_unknown_ones_ignored(snapshot: Snapshot) -> None:
    assert snapshot.get("A", "c", fields=["n", "nope"])["fields"] == {"n": 5}
    assert snapshot.get("A", "c", fields=[])["fields"] == {}
    assert snapshot.export(["A"], fields=["id"])["A"][0] == {"id": "a"}


def test_values_are_ready_for_json(snapshot: Snapshot) -> None:
    assert json.dumps(snapshot.get("C", "z")["fields"]) == '{"id": "z", "v": "2020-01-01T00:00:00Z", "w": 1}'


def test_an_empty_file_has_an_identity_but_no_fields(snapshot: Snapshot) -> None:
    assert [entry["id"] for entry in snapshot.objects("P")] == ["p/empty.yaml", "p/x.yaml"]
    with pytest.raises(RepositoryError) as caught:
        snapshot.get("P", "p/empty.yaml")
    assert caught.value.message.startswith("p/empty.yaml: ")
    assert snapshot.get("P", " ./p//x.yaml ")["fields"] == {"x": 1}
    for identifier in ("/p/x.yaml", " "):
        with pytest.raises(RepositoryError):
            snapshot.get("P", identifier)


def test_empty_arguments_are_refused_by_name(snapshot: Snapshot) -> None:
    for question, field in (
        (lambda: snapshot.entity_schema(""), "entity"),
        (lambda: snapshot.objects(""), "entity"),
        (lambda: snapshot.object_count(""), "entity"),
        (lambda: snapshot.get("", ""), "entity"),
        (lambda: snapshot.get("A", ""), "id"),
        (lambda: require_argument("id", ""), "id"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            question()
        assert (caught.value.field, caught.value.kind) == (field, "invalid_arguments")


def test_names_with_blanks_are_taken_by_some_questions_and_refused_by_others(snapshot: Snapshot) -> None:
    assert snapshot.entity_schema(" A ")["Name"] == "A"
    assert list(snapshot.export([" A "])) == ["A"]
    assert len(snapshot.files(" A ")) == 2
    assert snapshot.files(" ") == snapshot.files() == snapshot.files(None)
    for question in (lambda: snapshot.objects(" A"), lambda: snapshot.get("A ", "a")):
        with pytest.raises(RepositoryError):
            question()
    with pytest.raises(UnknownEntity):
        snapshot.objects(" Nope")
    with pytest.raises(UnknownEntity):
        snapshot.export([" "])
    with pytest.raises(ObjectNotFound):
        snapshot.get("A", " a")


def test_a_nested_record_of_the_deepest_kind_is_returned_and_a_deeper_one_refused() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    assert to_json(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(NotJson):
        to_json(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        math.nan,
        {1: 2},
        {None: 1},
        {"a": {True: 1}},
        "\ud800",
        {"\udc00": 1},
        b"",
        object(),
    ],
)
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(NotJson):
        to_json([value])


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(PLAIN)
def test_plain_values_keep_their_value_and_integers_every_digit(value: Any) -> None:
    converted = to_json(value)
    assert converted == value
    text = json.dumps(converted)
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0.0"),
        (0.0, "0"),
        (1e21, "1e+21"),
        (2.0**53, "9007199254740992"),
        (1.8446744073709552e19, "1.8446744073709552e+19"),
        (9007199254740993, "9007199254740993"),
        (True, "true"),
        (Timestamp("2024-02-29T10:11:12.5Z"), '"2024-02-29T10:11:12.5Z"'),
    ],
)
def test_numbers_and_times_are_written_so(value: Any, text: str) -> None:
    assert json.dumps(to_json(value)) == text


FAMILY = """\
mergeway: {version: 1}
entities:
  Base: {identifier: id, include: ['base/*'], fields: {id: string}}
  Left: {extends: Base, include: ['left/*'], data: [{id: inline}]}
  Right: {extends: Base, include: ['right/*']}
  Other: {identifier: id, include: ['other/*'], fields: {id: string}}
"""


def test_identifiers_shared_within_a_tree_are_found_whichever_file_brings_them(
    write_repository: Write,
) -> None:
    root = write_repository({
        "mergeway.yaml": FAMILY,
        "base/a": "id: a\n",
        "left/b": "id: b\n",
        "right/c": "id: c\n",
        "other/a": "id: a\n",
    })
    repository = Repository(str(root))
    assert len(repository.snapshot().objects("Left")) == 2
    changes = [
        ("right/c", "id: b\n", "Right"),
        ("left/b", "id: a\n", "Left"),
        ("base/new", "items: [{id: n}, {id: c}]\n", "Right"),
        ("right/new", "id: inline\n", "Right"),
        ("base/a", "id: inline\n", "Left"),
    ]
    for name, text, blamed in changes:
        path = root / name
        before = path.read_bytes() if path.exists() else None
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RepositoryError) as caught:
            repository.snapshot()
        assert caught.value.entity == blamed
        with pytest.raises(RepositoryError) as fresh:
            Repository(str(root)).snapshot()
        assert fresh.value.message == caught.value.message
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
        repository.snapshot()


def test_an_inline_record_returns_when_the_file_that_overrode_it_goes(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": FAMILY, "left/x": "id: inline\nfrom: file\n"})
    repository = Repository(str(root))
    assert repository.snapshot().get("Left", "inline")["fields"]["from"] == "file"
    (root / "left/x").unlink()
    assert repository.snapshot().get("Left", "inline")["inline"] is True


def test_derived_fields_do_not_leak_between_records_that_share_a_block(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  K: {identifier: id, include: [d/*], fields: {id: string, p: {type: string, source: {path: true}}}}\n",
        "d/a": "items:\n- &one {id: a, p: mine}\n- {id: b, copy: *one}\n",
    })
    fields = [
        record["fields"] for record in (Repository(str(root)).snapshot().get("K", name) for name in "ab")
    ]
    assert fields == [{"id": "a", "p": "d/a"}, {"id": "b", "p": "d/a", "copy": {"id": "a", "p": "mine"}}]
