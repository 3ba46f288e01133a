"""Every record has an identifier of its own, alone in its entity and its inheritance tree."""

from __future__ import annotations

from collections.abc import Callable

from mergeway_mcp.repository.validation import Finding

FindingsOf = Callable[..., list[Finding]]


def brief(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(finding.type, finding.id, finding.file) for finding in findings]


def one_entity(entity: str, **files: str) -> dict[str, str]:
    return {
        "mergeway.yaml": f"entities:\n  T: {{{entity}}}\n",
        **{name.replace("_", "."): text for name, text in files.items()},
    }


def test_the_pattern_of_an_identifier_is_searched_in_its_text(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: {field: n, pattern: '^[0-9]+$'}, include: [t.yaml], fields: {n: integer}",
        t_yaml="items: [{n: 7}, {n: -7}]",
    )
    assert brief(findings_of(files)) == [("T", "-7", "t.yaml (item 2)")]


def test_a_bad_pattern_of_an_identifier_is_told_for_every_record(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: {field: n, pattern: '['}, include: [t.yaml], fields: {n: integer}",
        t_yaml="items: [{n: 7}, {n: 8}]",
    )
    assert [finding.id for finding in findings_of(files)] == ["7", "8"]


def test_other_fields_are_checked_when_the_identifier_is_missing(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: id, include: [t.yaml], fields: {id: {type: string, required: true}, n: integer}",
        t_yaml="n: x",
    )
    found = findings_of(files)
    assert brief(found) == [("T", "", "t.yaml")] * 2
    assert [finding.message.partition(":")[0] for finding in found] == ["id", "n"]


def test_a_record_with_faults_does_not_take_its_identifier(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: id, include: [t.yaml], fields: {id: string, n: integer}",
        t_yaml="items: [{id: a, n: x}, {id: a}, {id: a}]",
    )
    assert brief(findings_of(files)) == [("T", "a", "t.yaml (item 1)"), ("T", "a", "t.yaml (item 3)")]


def test_identifiers_of_different_kinds_are_compared_as_text(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: id, include: [t.yaml], fields: {x: string}",
        t_yaml="items: [{id: 1}, {id: '1'}, {id: 1.0}, {id: 01}]",
    )
    assert [finding.file[-3:-1] for finding in findings_of(files)] == [" 2", " 3", " 4"]


def test_unique_values_are_compared_as_text(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: id, include: [t.yaml], fields: {id: string, u: {type: number, unique: true}, "
        "o: {type: object, unique: true, properties: {x: string}}}",
        t_yaml="items: [{id: a, u: 1, o: {x: y}}, {id: b, u: 1.0}, {id: c}, {id: d}, {id: e, u: ~, o: {x: y}}]",
    )
    assert [finding.id for finding in findings_of(files)] == ["b", "e"]


def test_a_default_counts_for_no_uniqueness(findings_of: FindingsOf) -> None:
    files = one_entity(
        "identifier: id, include: [t.yaml], fields: {id: string, u: {type: string, unique: true, default: d}}",
        t_yaml="items: [{id: a}, {id: b}]",
    )
    assert findings_of(files) == []


def test_identifiers_are_taken_across_a_whole_inheritance_tree(findings_of: FindingsOf) -> None:
    files = {
        "mergeway.yaml": """
entities:
  Root: {identifier: id, fields: {id: string}}
  Left: {extends: Root, data: [{id: x}, {id: y}]}
  Right: {extends: Root, data: [{id: x}]}
  Leaf: {extends: Right, data: [{id: y}]}
  Apart: {identifier: id, data: [{id: x}], fields: {id: string}}
"""
    }
    assert brief(findings_of(files)) == [
        ("Left", "y", "mergeway.yaml (inline 2)"),
        ("Right", "x", "mergeway.yaml (inline 1)"),
    ]


def test_derived_values_are_checked_like_others(findings_of: FindingsOf) -> None:
    files = {
        "mergeway.yaml": "entities:\n  T: {identifier: $path, include: ['*/*.yaml'], fields: "
        "{area: {type: enum, enum: [red], source: {path_segment: 0}}}}\n",
        "red/a.yaml": "area: overwritten",
        "blue/a.yaml": "{}",
    }
    assert brief(findings_of(files)) == [("T", "blue/a.yaml", "blue/a.yaml")]


def test_an_empty_file_is_a_finding_whatever_its_entity_derives(findings_of: FindingsOf) -> None:
    files = {
        "mergeway.yaml": "entities:\n  T: {identifier: $path, include: ['t/*'], fields: "
        "{p: {type: string, source: {path: true}}}}\n",
        "t/empty.yaml": "",
        "t/map.yaml": "{}",
    }
    assert brief(findings_of(files)) == [("T", "", "t/empty.yaml")]


def test_inline_records_of_an_included_configuration_are_labelled_with_its_file(
    findings_of: FindingsOf,
) -> None:
    files = {
        "mergeway.yaml": "include: [conf/more.yaml]\n",
        "conf/more.yaml": "mergeway: {version: 1}\n"
        "entities: {T: {identifier: id, data: [{id: a, n: x}], fields: {id: string, n: integer}}}\n",
    }
    assert brief(findings_of(files)) == [("T", "a", "conf/more.yaml (inline 1)")]
