"""The recorded vectors that turn on the dialect alone, read without an engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import Timestamp, YamlError, has_non_string_key, load_mapping

_REFUSED = [
    *(
        "bool-tag-yes",
        "control-char",
        "dup-key-json",
        "key-seq-nested",
        "recursive-alias",
        "scalar",
        "syntax",
        "tab",
    ),
    "unknown-alias",
]


def as_json(value: Any) -> Any:
    """What a reply would hold; numbers compare as doubles."""
    if isinstance(value, Timestamp):
        return value.rfc3339()
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) + 0.0  # a negative zero has no sign in the recording
    return value


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "mergeway.yaml":
            value = load_mapping(path.read_bytes(), json_syntax=path.suffix == ".json")
            assert value is not None
            items = value.get("items", [value])
            assert isinstance(items, list)
            found.extend(items)
    return found


@pytest.mark.parametrize("name", ["yaml-scalars", "timestamps", "numbers"])
def test_records_hold_what_the_recorded_reference_server_exports(name: str, vectors: Path) -> None:
    steps = json.loads((vectors / f"{name}.json").read_text(encoding="utf-8"))["steps"]
    exports = next(step["result"]["entities"] for step in steps if step["call"] == "repository_export")
    recorded = [as_json(record) for entity in exports.values() for record in entity]
    ours = [as_json(record) for record in records(vectors / "fixtures" / name)]
    assert sorted(map(repr, map(_sorted, ours))) == sorted(map(repr, map(_sorted, recorded)))


def test_null_keys_and_hex_keys_are_read_as_recorded(vectors: Path) -> None:
    folder = vectors / "fixtures" / "null-key" / "d"
    first, second, third = (
        load_mapping((folder / name).read_bytes(), json_syntax=False)
        for name in ("a.yaml", "b.yaml", "c.yaml")
    )
    assert first == {"id": "a", "1": "one", "0x1": "hex"}
    assert has_non_string_key(second)
    assert has_non_string_key(third)


@pytest.mark.parametrize("name", _REFUSED)
def test_files_that_the_recorded_reference_server_cannot_parse_are_refused(name: str, vectors: Path) -> None:
    folder = vectors / "fixtures" / "broken-record" / name
    (path,) = (folder / "d").iterdir()
    with pytest.raises(YamlError):
        load_mapping(path.read_bytes(), json_syntax=path.suffix == ".json")


@pytest.mark.parametrize(
    "name", ["utf16", "json-tabs", "json-slash-escape", "json-trailing-comma", "json-longstr", "json-nospace"]
)
def test_files_in_unusual_dress_are_read(name: str, vectors: Path) -> None:
    (path,) = (vectors / "fixtures" / "broken-record" / name / "d").iterdir()
    value = load_mapping(path.read_bytes(), json_syntax=path.suffix == ".json")
    assert value is not None
    assert value["id"] == "a"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((key, _sorted(item)) for key, item in value.items())
    return [_sorted(item) for item in value] if isinstance(value, list) else value
