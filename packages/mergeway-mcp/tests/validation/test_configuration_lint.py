"""What is worth saying about a configuration that loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository
from mergeway_mcp.repository.validation import lint

Write = Callable[[dict[str, str]], Path]
Remarks = list[tuple[str, str, str]]


@pytest.fixture
def remarks(write_repository: Write) -> Callable[..., Remarks]:
    def run(entities: str, **files: str) -> Remarks:
        written = {"mergeway.yaml": f"mergeway: {{version: 1}}\nentities:\n{entities}\n"}
        written |= {name.replace("_", "."): text for name, text in files.items()}
        root = write_repository(written)
        found = lint(Repository(str(root)).load_config())
        assert {finding.file for finding in found} <= {"mergeway.yaml"}
        return [(finding.severity, finding.type, finding.field) for finding in found]

    return run


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("f: string", []),
        ("f: {type: string, pattern: '^https:', format: url, default: 'https://a.example/'}", []),
        ("f: {type: string, pattern: '^b', default: a}", [("error", "f")]),
        ("f: {type: string, pattern: '['}", [("error", "f")]),
        ("f: {type: integer, pattern: '^1$'}", [("warning", "f")]),
        ("f: {type: string, format: phone}", [("warning", "f")]),
        ("f: {type: integer, format: int32}", []),
        ("f: enum", [("warning", "f")]),
        ("f: {type: integer, default: x}", [("error", "f")]),
        ("f: {type: string, repeated: true, default: [a, 1]}", [("error", "f")]),
        (
            "f: {type: object, properties: {x: {type: string, pattern: '('}, y: T}}",
            [("warning", "f"), ("error", "f.x")],
        ),
    ],
)
def test_fields(remarks: Callable[..., Remarks], field: str, found: list[tuple[str, str]]) -> None:
    entity = f"  T: {{identifier: id, data: [{{id: a}}], fields: {{id: string, {field}}}}}"
    assert remarks(entity) == [(severity, "T", name) for severity, name in found]


def test_a_bad_pattern_of_an_identifier_is_told_once_where_it_is_declared(
    remarks: Callable[..., Remarks],
) -> None:
    assert remarks(
        "  P: {identifier: {field: id, pattern: '['}, fields: {id: string, f: {type: string, pattern: '['}}}\n"
        "  C: {extends: P, data: [{id: a}]}"
    ) == [("error", "P", "identifier"), ("error", "P", "f")]


@pytest.mark.parametrize(
    ("includes", "severities"),
    [
        ("[t.yaml]", []),
        ("['t.*']", []),
        ("[none.yaml]", ["warning"]),
        ("['none/*']", ["warning"]),
        ("['t[']", ["error"]),
        ("[{path: t.yaml, selector: '$.x['}]", ["error"]),
        ("[{path: none.yaml, selector: '$..'}]", ["error", "warning"]),
        ("[t.yaml, './t.yaml', u.yaml]", ["warning"]),
        ("[{path: t.yaml, selector: '$.a'}, {path: t.yaml, selector: '$.b'}]", []),
    ],
)
def test_includes(remarks: Callable[..., Remarks], includes: str, severities: list[str]) -> None:
    found = remarks(
        f"  T: {{identifier: id, include: {includes}, fields: {{id: string}}}}",
        t_yaml="id: a",
        u_yaml="id: b",
    )
    assert found == [(severity, "T", "include") for severity in severities]


def test_a_number_as_default_of_a_json_schema_is_an_error(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\n"
        "entities: {T: {identifier: id, data: [{id: a}], json_schema: t.json}}\n",
        "t.json": '{"properties": {"id": {"type": "string"}, "n": {"type": "integer", "default": 3}}}',
    })
    (finding,) = lint(Repository(str(root)).load_config())
    assert (finding.severity, finding.field) == ("error", "n")
