"""Which phases run, what they show, in which order, and how much of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp.repository import RepositoryError
from mergeway_mcp.repository.reading import FileSystem
from mergeway_mcp.repository.validation import MAX_FINDINGS, Finding, validate

FindingsOf = Callable[..., list[Finding]]
Write = Callable[[dict[str, str | bytes]], Path]

CONFIG = """mergeway: {version: 1}
entities:
  B: {identifier: id, include: ['b/*'], fields: {id: string, n: integer, m: integer, a: A}}
  A: {identifier: id, include: ['a/*'], fields: {id: string}}
"""
FORMAT_FAULT = {"b/broken.yaml": "]["}
SCHEMA_FAULTS = {"b/1.yaml": "{id: x, m: a, n: b}", "b/0.yaml": "items: [{id: y, n: c}, {id: z, n: d}]"}
REFERENCE_FAULT = {"b/2.yaml": "{id: r, a: nowhere}"}


def phases_shown(root: Path, *phases: Any, **options: Any) -> list[str]:
    return [finding.phase for finding in validate(str(root), phases=phases, **options).findings]


def test_a_phase_that_finds_something_is_the_last_to_run(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, **FORMAT_FAULT, **SCHEMA_FAULTS, **REFERENCE_FAULT})
    assert phases_shown(root) == ["format"]
    (root / "b/broken.yaml").unlink()
    assert phases_shown(root) == ["schema"] * 4
    for name in SCHEMA_FAULTS:
        (root / name).unlink()
    assert phases_shown(root) == ["references"]


def test_only_phases_that_were_asked_for_are_shown_and_a_note_tells_of_the_rest(
    write_repository: Write,
) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, **FORMAT_FAULT, **SCHEMA_FAULTS})
    for phases in (["schema"], ["references"]):
        report = validate(str(root), phases=phases)  # type: ignore[arg-type]
        assert report.findings == ()
        assert len(report.notes) == 1
    assert phases_shown(root, "format") == ["format"]
    (root / "b/broken.yaml").unlink()
    assert phases_shown(root, "format") == []
    assert phases_shown(root, "references") == ["schema"] * 4, "references asks for schema as well"


def test_a_schema_fault_found_while_reading_is_shown_to_whoever_asked_for_schema(
    findings_of: FindingsOf,
) -> None:
    files = {
        "mergeway.yaml": "entities: {T: {identifier: $path, include: [t.yaml], fields: {id: string}}}",
        "t.yaml": "items: [{id: a}]",
    }
    for phases in ([], ["schema"], ["format"]):
        assert [finding.phase for finding in findings_of(files, phases=phases)] == ["schema"]


def test_findings_come_in_order_of_entity_file_item_and_field(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, **SCHEMA_FAULTS, "a/1.yaml": "id: 7"})
    report = validate(str(root))
    assert [(finding.file, finding.message[:2]) for finding in report.findings] == [
        ("a/1.yaml", "id"),
        ("b/0.yaml (item 1)", "n:"),
        ("b/0.yaml (item 2)", "n:"),
        ("b/1.yaml", "n:"),
        ("b/1.yaml", "m:"),
    ]
    assert report == validate(str(root))
    assert (report.entities, report.records) == (2, 4)


def test_fail_fast_keeps_the_first_finding(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, **SCHEMA_FAULTS})
    everything = validate(str(root))
    first = validate(str(root), fail_fast=True)
    assert first.findings == everything.findings[:1]
    assert first.notes == ()


def test_a_report_is_bounded(write_repository: Write) -> None:
    items = "".join(f"  - {{id: i{number}, n: x}}\n" for number in range(MAX_FINDINGS + 5))
    report = validate(str(write_repository({"mergeway.yaml": CONFIG, "b/many.yaml": f"items:\n{items}"})))
    assert len(report.findings) == MAX_FINDINGS
    assert len(report.notes) == 1


def test_records_that_the_server_will_refuse_are_noted(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\n"
        "entities: {T: {identifier: n, include: ['t/*'], fields: {n: integer}}}\n",
        "t/a.yaml": "n: 18446744073709551615",
        "t/b.yaml": "{n: 1, x: .inf}",
        "t/c.yaml": "{n: 2, x: {1: a}}",
        "t/d.yaml": "n: 3",
    })
    report = validate(str(root))
    assert report.findings == ()
    assert [note.partition(":")[0] for note in report.notes] == ["t/a.yaml", "t/b.yaml", "t/c.yaml"]


def test_a_configuration_that_does_not_load_is_an_error_with_its_place(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": "mergeway: {version: 1}\nentities: {T: {identifier: id}}\n"})
    with pytest.raises(RepositoryError) as raised:
        validate(str(root))
    assert raised.value.entity == "T"
    assert str(root) not in raised.value.message, "paths are shown from the root"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no FIFOs")
@pytest.mark.timeout(20)
def test_files_that_are_no_regular_files_are_findings_and_no_hang(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "a/x.yaml": "id: x"})
    os.mkfifo(root / "a/pipe.yaml")
    (root / "a/null.yaml").symlink_to(os.devnull)
    (root / "a/folder.yaml").mkdir()
    (root / "a/nowhere.yaml").symlink_to("missing")
    assert [(finding.phase, finding.file) for finding in validate(str(root)).findings] == [
        ("format", "a/folder.yaml"),
        ("format", "a/nowhere.yaml"),
        ("format", "a/null.yaml"),
        ("format", "a/pipe.yaml"),
    ]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff\xfe\x80",
        b"a: " + b"[" * 10_000,
        b"a: " + b"9" * 5_000,
        b"a: &a [x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (c, c, b", ".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 107)),
        b"a: &a [*a]",
        b'{"id": "\\ud800"}',
    ],
    ids=["binary", "deep", "digits", "bomb", "cycle", "surrogate"],
)
def test_hostile_files_are_findings_that_quote_nothing(write_repository: Write, content: bytes) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "a/hostile.yaml": content, "a/hostile.json": content})
    report = validate(str(root))
    assert {finding.file for finding in report.findings} == {"a/hostile.json", "a/hostile.yaml"}
    for finding in report.findings:
        assert finding.message.isprintable()
        assert len(finding.message) < 300


def test_no_message_quotes_what_a_record_holds(write_repository: Write) -> None:
    secret = "hunter2"
    config = """mergeway: {version: 1}
entities:
  T:
    identifier: {field: id, pattern: '^t'}
    include: ['t/*']
    fields:
      id: string
      a: integer
      b: {type: enum, enum: [x]}
      c: {type: string, pattern: '^x'}
      d: {type: string, format: email}
      e: {type: string, format: url}
      f: {type: string, repeated: true}
      g: {type: object, properties: {h: {type: boolean}}}
      u: {type: string, unique: true}
      r: T
"""
    record = (
        f"id: {{id}}\na: {secret}\nb: {secret}\nc: {secret}\nd: {secret}\ne: {secret}\nf: {secret}\n"
        f"g: {{{{h: {secret}}}}}\nu: {secret}\n"
    )
    root = write_repository({
        "mergeway.yaml": config,
        "t/1.yaml": record.format(id="t1"),
        "t/2.yaml": record.format(id="other"),
    })
    report = validate(str(root))
    assert len(report.findings) == 7 * 2 + 2
    write_repository({"t/1.yaml": f"id: t1\nr: {secret}", "t/2.yaml": "id: t2"})
    references = validate(str(root))
    assert [finding.phase for finding in references.findings] == ["references"]
    write_repository({"t/1.yaml": f"{secret}: [", "t/2.yaml": f"type: {secret}"})
    unreadable = validate(str(root))
    assert [finding.phase for finding in unreadable.findings] == ["format"] * 2
    for finding in (*report.findings, *references.findings, *unreadable.findings):
        assert secret not in finding.message


class ChangingDisk:
    """A disk on which a file is rewritten whenever its status is asked for, as often as there are texts."""

    def __init__(self, path: Path, texts: list[str]) -> None:
        self._path = path
        self._texts = iter(texts)

    def stat(self, path: str) -> os.stat_result:
        if path == str(self._path):
            text = next(self._texts, None)
            if text is not None:
                self._path.write_text(text, encoding="utf-8")
        return os.stat(path)


def test_files_that_change_during_a_validation_are_seen_in_one_state(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG.replace("b/*", "a/*"), "a/x.yaml": "id: 7"})
    # Read for one entity, changed before it is read for the other: the validation starts over.
    texts = ["id: 7", "id: 77", "id: 777", "id: settled"]
    disk = ChangingDisk(root / "a/x.yaml", texts)
    assert validate(str(root), system=FileSystem(stat=disk.stat)).findings == ()


def test_files_that_never_come_to_rest_are_an_error(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG.replace("b/*", "a/*"), "a/x.yaml": "id: x"})
    disk = ChangingDisk(root / "a/x.yaml", [f"id: {'x' * length}" for length in range(1, 500)])
    with pytest.raises(RepositoryError):
        validate(str(root), system=FileSystem(stat=disk.stat))


def test_a_root_with_glob_characters_is_validated(tmp_path: Path) -> None:
    root = tmp_path / "r[1]*" if os.name != "nt" else tmp_path / "r[1]"
    (root / "a").mkdir(parents=True)
    (root / "mergeway.yaml").write_text(CONFIG, encoding="utf-8")
    (root / "a/x.yaml").write_text("id: 7", encoding="utf-8")
    assert [finding.file for finding in validate(str(root)).findings] == ["a/x.yaml"]


def test_an_absolute_include_is_validated_where_it_is(write_repository: Write, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.yaml").write_text("id: 7", encoding="utf-8")
    config = CONFIG.replace("a/*", f"{elsewhere.as_posix()}/*.yaml")
    found = validate(str(write_repository({"mergeway.yaml": config}))).findings
    assert [(finding.type, finding.id) for finding in found] == [("A", "7")]
