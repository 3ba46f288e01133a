"""References are followed to exactly one record."""

from __future__ import annotations

from collections.abc import Callable

from mergeway_mcp.repository.validation import Finding

FindingsOf = Callable[..., list[Finding]]

CONFIG = """
entities:
  Animal: {identifier: id, fields: {id: string}}
  Cat: {extends: Animal, data: [{id: tom}, {id: both}]}
  Robot: {identifier: n, data: [{n: 7}, {n: both}], fields: {name: string}}
  Page: {identifier: $path, include: ['pages/*.yaml'], fields: {text: string}}
  Visit:
    identifier: id
    include: [visits.yaml]
    fields:
      id: string
      pet: Animal
      any: {type: Animal | Robot}
      family: {type: Animal | Cat}
      many: {type: Robot, repeated: true}
      page: Page
      usual: {type: Cat, default: tom}
      nested: {type: object, properties: {pet: Animal}}
"""


def faults(findings_of: FindingsOf, record: str, **options: object) -> list[str]:
    files = {"mergeway.yaml": CONFIG, "visits.yaml": f"id: v\n{record}\n", "pages/a.yaml": "text: t"}
    found = findings_of(files, **options)
    assert {(finding.phase, finding.type, finding.id) for finding in found} <= {("references", "Visit", "v")}
    return [finding.message.partition(":")[0] for finding in found]


def test_records_of_descendants_are_found(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "pet: tom") == []


def test_a_record_seen_through_two_members_of_a_union_is_one_record(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "family: tom") == []


def test_a_reference_to_nothing_is_placed(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "pet: rex\nmany: [7, 8, '7']\npage: pages/b.yaml") == [
        "pet",
        "many[1]",
        "page",
    ]


def test_a_reference_to_two_records_is_ambiguous(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "any: both") == ["any"]
    assert faults(findings_of, "any: 7") == []


def test_a_path_reference_is_compared_in_its_cleaned_form(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "page: pages/a.yaml") == []
    assert faults(findings_of, "page: ./pages//a.yaml") == []


def test_references_inside_properties_are_not_followed(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "nested: {pet: nobody}") == []


def test_references_are_checked_only_when_asked_for(findings_of: FindingsOf) -> None:
    assert faults(findings_of, "pet: rex", phases=["references"]) == ["pet"]
    assert faults(findings_of, "pet: rex", phases=["schema"]) == []
    assert faults(findings_of, "pet: rex", phases=["format", "schema"]) == []


def test_a_default_that_leads_nowhere_is_found(findings_of: FindingsOf) -> None:
    files = {
        "mergeway.yaml": CONFIG.replace("default: tom", "default: nobody"),
        "visits.yaml": "id: v",
    }
    assert [finding.message.partition(":")[0] for finding in findings_of(files)] == ["usual"]
