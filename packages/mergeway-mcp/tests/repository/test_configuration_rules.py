"""Rules of the configuration beyond the recorded cases, and that every fault says where it is without quoting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.repository import Repository, RepositoryError, config
from mergeway_mcp.repository.schema import Entity, Identifier, Include, Source

Write = Callable[[Mapping[str, str | bytes]], Path]
HEAD = "mergeway: {version: 1}\n"


def entity(body: str) -> str:
    return f"{HEAD}entities:\n  T: {{{body}}}\n"


@pytest.fixture
def load(write_repository: Write) -> Callable[[str], Mapping[str, Entity]]:
    def loaded(text: str, **more: str) -> Mapping[str, Entity]:
        return Repository(str(write_repository({"mergeway.yaml": text, **more}))).load_config().entities

    return loaded


Load = Callable[..., Mapping[str, Entity]]


@pytest.mark.parametrize("version", ["1", "0x1", "01", "1.0", "1.9", "+1"])
def test_version_one_may_be_written_in_many_ways(load: Load, version: str) -> None:
    assert load(f"mergeway: {{version: {version}}}") == {}


@pytest.mark.parametrize("version", ["'1'", "true", "2", "0", "1e400", "[1]", "", "~"])
def test_other_versions_are_refused(load: Load, version: str) -> None:
    with pytest.raises(RepositoryError):
        load(f"mergeway: {{version: {version}}}")


FIELDS = "fields: {id: string}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- mergeway",
        HEAD + "include: a.yaml\n",
        HEAD + "include: [[a.yaml]]\n",
        HEAD + "entities: [T]\n",
        HEAD + "entities: {T: [x]}\n",
        HEAD + HEAD,
        "mergeway: {version: 1, version: 1}\n",
        entity(f"identifier: id, identifier: id, include: [a], {FIELDS}"),
        entity(f"identifier: [id], include: [a], {FIELDS}"),
        entity(f"identifier: '', include: [a], {FIELDS}"),
        entity(f"identifier: {{field: ''}}, include: [a], {FIELDS}"),
        entity(f"identifier: {{field: id, generated: maybe}}, include: [a], {FIELDS}"),
        entity(f"identifier: {{field: id, field: id}}, include: [a], {FIELDS}"),
        entity(f"identifier: id, include: a, {FIELDS}"),
        entity(f"identifier: id, include: [~], {FIELDS}"),
        entity(f"identifier: id, include: [{{path: ' '}}], {FIELDS}"),
        entity(f"identifier: id, include: [a], json_schema: s.json, {FIELDS}"),
        entity("identifier: id, include: [a]"),
        entity("identifier: id, include: [a], fields: ~"),
        entity(f"identifier: id, data: x, {FIELDS}"),
        entity(f"identifier: id, data: [{{a: 1, a: 2}}], {FIELDS}"),
        entity(f"identifier: $path, data: [{{a: 1}}], {FIELDS}"),
        entity(f"identifier: id, description: [x], include: [a], {FIELDS}"),
        entity(f"extends: lower, include: [a], {FIELDS}"),
        entity(f"extends: T, include: [a], {FIELDS}"),
        entity("identifier: id, include: [a], fields: {id: [string]}"),
        entity("identifier: id, include: [a], fields: {id: ''}"),
        entity("identifier: id, include: [a], fields: {id: text}"),
        entity("identifier: id, include: [a], fields: {id: 'T | string'}"),
        entity("identifier: id, include: [a], fields: {id: {type: string, type: string}}"),
        entity("identifier: id, include: [a], fields: {id: {type: string, required: maybe}}"),
        entity("identifier: id, include: [a], fields: {id: {type: string, enum: [[a]]}}"),
        entity("identifier: id, include: [a], fields: {id: {type: string, fields: {x: string}}}"),
        entity("identifier: id, include: [a], fields: {id: {type: object, properties: {}}}"),
        entity("identifier: id, include: [a], fields: {o: {type: object, properties: {x: Ghost}}}"),
        entity("identifier: id, include: [a], fields: {p: {type: string, source: {path_segment: -1}}}"),
        entity("identifier: id, include: [a], fields: {p: {type: string, source: {path: true}, default: x}}"),
        entity("identifier: id, include: [a], fields: {p: {type: boolean, source: {path: true}}}"),
        entity("identifier: id, include: [a], fields: {p: {type: string, source: [path]}}"),
    ],
)
def test_a_broken_rule_is_refused(load: Load, text: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        load(text)
    assert caught.value.file is not None


def test_a_fault_tells_file_line_entity_and_field_but_quotes_nothing(load: Load) -> None:
    with pytest.raises(RepositoryError) as caught:
        load(
            entity(
                "identifier: id, include: [a], fields: {o: {type: object, properties: {x: {type: hunter2}}}}"
            )
        )
    error = caught.value
    assert (error.entity, error.line, error.place) == ("T", 3, "field o.x")
    assert "hunter2" not in error.message + error.detail
    assert error.message.startswith("mergeway.yaml: line 3")


def test_scalars_of_other_types_are_taken_as_their_text(load: Load) -> None:
    loaded = load(
        entity("identifier: 5, description: 2.50, include: [7], fields: {'5': {type: string, format: 010}}")
    )
    assert loaded["T"].identifier == Identifier("5")
    assert loaded["T"].description == "2.50"
    assert loaded["T"].includes == (Include("7"),)
    assert loaded["T"].fields["5"].format == "010"


def test_the_same_include_is_kept_once_and_another_spelling_is_not_the_same(load: Load) -> None:
    includes = "a, ' a ', ./a, {path: a}, {path: a, selector: $.x}, {path: a, selector: ' $.x '}"
    loaded = load(entity(f"identifier: id, include: [{includes}], {FIELDS}"))
    assert loaded["T"].includes == (Include("a"), Include("./a"), Include("a", "$.x"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{path: true}", Source("path")),
        ("{path: false}", None),
        ("{path: false, path_segment: 0}", Source("path_segment", 0)),
        ("{path_segment_rev: 2}", Source("path_segment_rev", 2)),
        ("~", None),
        ("{}", None),
    ],
)
def test_a_source_is_one_of_three(load: Load, source: str, expected: Source | None) -> None:
    loaded = load(entity(f"identifier: id, include: [a], fields: {{p: {{type: string, source: {source}}}}}"))
    assert loaded["T"].fields["p"].source == expected


def test_a_child_may_have_inline_data_where_its_parent_has_a_source(load: Load) -> None:
    loaded = load(
        f"{HEAD}entities:\n  A: {{identifier: id, fields: {{id: string, p: {{type: string, source: {{path: true}}}}}}}}\n"
        "  B: {extends: A, data: [{id: x}]}\n"
    )
    assert loaded["B"].fields["p"].source == Source("path")


def test_of_several_faults_always_the_same_is_reported(load: Load) -> None:
    with pytest.raises(RepositoryError) as caught:
        load(
            f"{HEAD}entities:\n  B: {{identifier: id, include: [a], fields: {{id: Wraith}}}}\n"
            "  A: {identifier: id, include: [a], fields: {id: string, b: Spook, c: Phantom}}\n"
        )
    assert (caught.value.entity, caught.value.place) == ("A", "field b")


def test_a_cycle_of_parents_is_told_from_its_first_member(load: Load) -> None:
    with pytest.raises(RepositoryError) as caught:
        load(f"{HEAD}entities:\n  Z: {{extends: B}}\n  B: {{extends: C}}\n  C: {{extends: B}}\n")
    assert caught.value.entity == "B"
    assert caught.value.entities == {"B", "C"}


def test_descendants_are_found_over_all_levels_whatever_their_names(load: Load) -> None:
    loaded = load(
        f"{HEAD}entities:\n  Z: {{identifier: id, {FIELDS}}}\n  M: {{extends: Z, fields: {{m: string}}}}\n"
        "  A: {extends: M, include: [a], fields: {a: string}}\n"
    )
    assert loaded["Z"].descendants == ("A", "M")
    assert loaded["A"].ancestors == ("Z", "M")
    assert loaded["A"].field_order == ("id", "m", "a")
    assert {loaded[name].tree for name in loaded} == {"Z"}


def test_included_files_may_be_reached_twice_when_they_declare_nothing(load: Load) -> None:
    assert load(f"{HEAD}include: [a.conf, a.conf, './*.conf']\n", **{"a.conf": HEAD}) == {}


def test_includes_multiply_no_further_than_their_bound(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "MAX_CONFIG_FILES", 50)
    files = {f"{level}.conf": f"{HEAD}include: [{level + 1}.conf, {level + 1}.conf]\n" for level in range(30)}
    with pytest.raises(RepositoryError):
        load(f"{HEAD}include: [0.conf]\n", **files, **{"30.conf": HEAD})


def test_includes_nest_no_deeper_than_their_bound(load: Load) -> None:
    files = {f"{level}.conf": f"{HEAD}include: [{level + 1}.conf]\n" for level in range(80)}
    with pytest.raises(RepositoryError):
        load(f"{HEAD}include: [0.conf]\n", **files, **{"80.conf": HEAD})


def test_deep_properties_are_refused_before_they_hurt(load: Load) -> None:
    deep = "string"
    for _ in range(70):
        deep = f"{{type: object, properties: {{p: {deep}}}}}"
    with pytest.raises(RepositoryError):
        load(entity(f"identifier: id, include: [a], fields: {{p: {deep}}}"))


def test_an_entry_file_may_be_named(write_repository: Write) -> None:
    root = write_repository({"other.conf": entity(f"identifier: id, data: [{{id: x}}], {FIELDS}")})
    snapshot = Repository(str(root), config=str(root / "other.conf")).snapshot()
    assert snapshot.objects("T") == [{"type": "T", "id": "x", "inline": True, "readOnly": True}]


def test_a_default_that_json_cannot_say_is_told_when_it_is_shown(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": entity("identifier: id, include: [a], fields: {id: {type: string, default: .inf}}")
    })
    snapshot = Repository(str(root)).snapshot()
    assert snapshot.entity_names() == ["T"]
    with pytest.raises(RepositoryError):
        snapshot.entity_schema("T")


def read_schema(load: Load, document: str) -> Any:
    return load(entity("identifier: id, include: [a], json_schema: s.json"), **{"s.json": document})["T"]


def properties(body: str) -> str:
    return f'{{"properties": {{{body}}}}}'


@pytest.mark.parametrize(
    "document",
    [
        "",
        "{",
        "[]",
        '{"type": "array", "properties": {}}',
        "{}",
        '{"properties": {}, "required": "a"}',
        '{"properties": {}, "required": [1]}',
        properties('"a": true'),
        properties('"a": {}'),
        properties('"a": {"type": 5}'),
        properties('"a": {"type": []}'),
        properties('"a": {"type": ["null"]}'),
        properties('"a": {"type": "string", "description": 5}'),
        properties('"a": {"enum": [""]}'),
        properties('"a": {"oneOf": []}'),
        properties('"a": {"oneOf": [{"type": "string"}]}'),
        properties('"a": {"oneOf": [{"enum": ["a", "b"]}]}'),
        properties('"a": {"x-reference-type": 5}'),
        properties('"a": {"x-reference-type": "string"}'),
        properties('"a": {"$ref": 5}'),
        properties('"a": {"$ref": "#/nope"}'),
        properties('"a": {"$ref": "#/properties/b/type"}, "b": {"type": "string"}'),
        properties('"a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["c"]}'),
        properties('"a": {"type": "array", "items": []}'),
        properties('"a": {"type": "string", "default": NaN}'),
        properties('"a": {"type": "string", "default": "\\ud800"}'),
        properties('"a": {"type": "integer", "default": ' + "9" * 5_000 + "}"),
        properties('"a": {"type": "string", "default": ' + "[" * 20_000 + "]" * 20_000 + "}"),
        properties('"a": {"$ref": "#"}, "b": {"$ref": "#"}'),
        properties('"a": {"type": "array", "items": {"$ref": "#/properties/a"}}'),
    ],
)
def test_a_json_schema_that_no_native_field_could_express_is_refused(load: Load, document: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        read_schema(load, document)
    assert caught.value.file is not None
    assert caught.value.file.endswith("s.json")


def test_references_that_multiply_are_stopped(load: Load) -> None:
    levels = [
        f'"l{level}": {{"type": "object", "properties": {{"a": {{"$ref": "#/$defs/l{level + 1}"}}, '
        f'"b": {{"$ref": "#/$defs/l{level + 1}"}}}}}}'
        for level in range(30)
    ]
    document = (
        '{"properties": {"id": {"$ref": "#/$defs/l0"}}, "$defs": {'
        + ", ".join(levels)
        + ', "l30": {"type": "string"}}}'
    )
    with pytest.raises(RepositoryError):
        read_schema(load, document)


def test_pointers_escape_index_and_reach_the_root(load: Load) -> None:
    document = (
        '{"$defs": {"a/b": {"~": [{"type": "string"}, {"type": "integer"}]}}, "properties": {'
        '"id": {"$ref": "#/$defs/a~1b/~0/1", "description": " own "}}}'
    )
    field = read_schema(load, document).fields["id"]
    assert (field.type, field.description) == ("integer", "own")


def test_text_after_the_schema_and_a_bom_do_not_matter(load: Load) -> None:
    assert read_schema(load, "\ufeff " + properties('"a": {"type": "string"}') + "}}} rest").field_order == (
        "a",
    )


def test_nested_arrays_become_one_list(load: Load) -> None:
    inner = '{"type": "array", "description": "in", "items": {"type": "number", "pattern": "p"}}'
    field = read_schema(
        load, properties(f'"a": {{"type": "array", "items": {inner}, "description": "out"}}')
    ).fields["a"]
    assert (field.type, field.repeated, field.pattern, field.description) == ("number", True, "p", "out")
