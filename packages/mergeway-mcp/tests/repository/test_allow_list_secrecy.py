"""A client restricted to some entities learns nothing of the others from errors; the operator learns all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import EntityNotAllowed, Repository, RepositoryError, UnknownEntity
from mergeway_mcp.repository.errors import HIDDEN_FAULT

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = """\
mergeway: {version: 1}
include: [conf/part.yaml]
entities:
  Open: {identifier: id, include: ['open/*.yaml'], fields: {id: string}}
  Secret: {identifier: id, include: ['secret/*.yaml'], fields: {id: string}}
  Family: {identifier: id, fields: {id: string}}
  Child: {extends: Family, include: [child/*.yaml]}
  Twin: {extends: Family, include: [twin/*.yaml]}
"""
PART = """\
mergeway: {version: 1}
entities:
  Part: {identifier: id, include: ['part/*.yaml'], fields: {id: string}}
"""
SOUND = {
    "mergeway.yaml": CONFIG,
    "conf/part.yaml": PART,
    "open/a.yaml": "id: a\n",
    "secret/s.yaml": "id: s\n",
    "child/c.yaml": "id: c\n",
    "twin/t.yaml": "id: t\n",
    "part/p.yaml": "id: p\n",
}
ALLOWED = frozenset({"Open", "Child", "Part"})

HIDDEN_FAULTS = {
    "a broken record": {"secret/classified.yaml": "id: [\n"},
    "a bad glob": {"mergeway.yaml": CONFIG.replace("secret/*", "secret/[")},
    "a broken declaration": {
        "mergeway.yaml": CONFIG.replace("Secret: {identifier: id", "Secret: {identifier: 'i d'")
    },
    "a hidden entity with an unknown reference": {
        "mergeway.yaml": CONFIG.replace("['secret/*.yaml'], fields: {id: string}", "[x], fields: {id: Ghost}")
    },
    "an identifier shared with a hidden entity": {"twin/classified.yaml": "id: c\n"},
    "a parent that is hidden and contradicted": {
        "mergeway.yaml": CONFIG.replace(
            "Child: {extends: Family", "Child: {identifier: other, extends: Family"
        )
    },
    "an included configuration": {"conf/part.yaml": "mergeway: {version: 2}\n"},
    "an entity in an included configuration": {"conf/part.yaml": PART.replace("id: string", "id: Ghost")},
    "a visible entity's pattern in an included configuration": {
        "conf/part.yaml": PART.replace("part/*", "part/[")
    },
    "a visible entity's inline record in an included configuration": {
        "conf/part.yaml": PART.replace("include: ['part/*.yaml']", "data: [{x: 1}]")
    },
    "an entity defined in two files": {"conf/part.yaml": PART.replace("Part", "Open")},
    "a json_schema in an included configuration": {
        "conf/part.yaml": PART.replace("fields: {id: string}", "json_schema: classified.json")
    },
}
OPEN_FAULTS = {
    "a broken record": {"open/b.yaml": "id: [\n"},
    "a broken entry file": {"mergeway.yaml": "mergeway: [\n"},
    "a visible entity's declaration": {
        "mergeway.yaml": CONFIG.replace("Open: {identifier: id", "Open: {identifier: 'i d'")
    },
    "a visible entity's record declared in an included configuration": {"part/b.yaml": "id: [\n"},
    "an identifier shared by visible entities": {
        "mergeway.yaml": CONFIG.replace(
            "Child: {extends: Family", "Open2: {extends: Open, include: [o2/*]}\n  Child: {extends: Family"
        ),
        "o2/a.yaml": "id: a\n",
    },
}


@pytest.mark.parametrize("fault", HIDDEN_FAULTS)
def test_a_fault_that_lies_elsewhere_or_touches_what_is_hidden_is_not_described(
    write_repository: Write, fault: str
) -> None:
    root = write_repository({**SOUND, **HIDDEN_FAULTS[fault]})
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root), allowed=ALLOWED).snapshot()
    assert caught.value.message == str(caught.value) == HIDDEN_FAULT
    assert caught.value.args == (HIDDEN_FAULT,)
    assert str(root) in caught.value.detail
    with pytest.raises(RepositoryError) as unrestricted:
        Repository(str(root)).snapshot()
    assert unrestricted.value.message != HIDDEN_FAULT


@pytest.mark.parametrize("fault", OPEN_FAULTS)
def test_a_fault_in_what_may_be_seen_is_described(write_repository: Write, fault: str) -> None:
    root = write_repository({**SOUND, **OPEN_FAULTS[fault]})
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root), allowed=ALLOWED | {"Open2"}).snapshot() if "Open2" in str(
            OPEN_FAULTS[fault]
        ) else Repository(str(root), allowed=ALLOWED).snapshot()
    assert caught.value.message != HIDDEN_FAULT
    assert str(root) not in caught.value.message


def test_start_up_errors_say_everything_to_the_operator(write_repository: Write) -> None:
    root = write_repository({**SOUND, **HIDDEN_FAULTS["an included configuration"]})
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root), allowed=ALLOWED).load_config()
    assert str(root / "conf" / "part.yaml") in caught.value.detail


def test_a_link_out_of_a_hidden_entity_is_not_described_even_after_a_warm_request(
    write_repository: Write, links_work: bool
) -> None:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    root = write_repository(SOUND)
    repository = Repository(str(root), allowed=ALLOWED, confine=True)
    repository.snapshot()
    (root.parent / "outside.yaml").write_text("id: x\n", encoding="utf-8")
    (root / "secret/s.yaml").unlink()
    (root / "secret/s.yaml").symlink_to("../../outside.yaml")
    with pytest.raises(RepositoryError) as caught:
        repository.snapshot()
    assert caught.value.message == HIDDEN_FAULT


def test_answers_hold_what_is_allowed_only(write_repository: Write) -> None:
    snapshot = Repository(str(write_repository(SOUND)), allowed=ALLOWED).snapshot()
    assert snapshot.entity_names() == ["Child", "Open", "Part"]
    assert list(snapshot.export()) == ["Child", "Open", "Part"]
    assert {entry["type"] for entry in snapshot.files()} == ALLOWED
    for question in (
        lambda: snapshot.entity_schema("Secret"),
        lambda: snapshot.objects("Secret"),
        lambda: snapshot.get("Secret", "s"),
        lambda: snapshot.export(["Open", "Secret"]),
        lambda: snapshot.files("Secret"),
        lambda: snapshot.object_count("Secret"),
        lambda: snapshot.export_count(["Secret"]),
    ):
        with pytest.raises(EntityNotAllowed):
            question()
    with pytest.raises(UnknownEntity):
        snapshot.export(["Nope", "Secret"])


def test_a_configuration_that_lost_an_allowed_entity_fails_every_request_but_not_the_start(
    write_repository: Write,
) -> None:
    root = write_repository(SOUND)
    repository = Repository(str(root), allowed=ALLOWED | {"Gone"})
    assert "Gone" not in repository.load_config().entities
    with pytest.raises(RepositoryError):
        repository.snapshot()
