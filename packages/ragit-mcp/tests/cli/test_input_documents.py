from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.artifacts.input import InputObject
from ragit_mcp.cli.input_document import MAX_INPUT_BYTES, read_input
from ragit_mcp.errors import CommandError


def reason(project: Any, name: str) -> str:
    with pytest.raises(CommandError) as caught:
        read_input(str(project.root), str(project.root), name)
    assert caught.value.code == "INPUT_INVALID"
    return str(caught.value.details["reason"])


def test_a_document_is_found_from_the_directory_that_was_named(project: Any) -> None:
    project.write("sub/request.json", '\ufeff{"goal": "x"}')
    assert read_input(str(project.root), str(project.root / "sub"), "request.json") == {"goal": "x"}
    assert read_input(str(project.root), str(project.root), str(project.root / "sub" / "request.json"))


def test_a_document_outside_the_repository_is_refused(project: Any, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text("{}", encoding="utf-8")
    assert reason(project, "../outside.json") == "outside_root"
    assert reason(project, str(tmp_path / "outside.json")) == "outside_root"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_document_behind_a_link_is_refused(project: Any, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text("{}", encoding="utf-8")
    (project.root / "link.json").symlink_to(tmp_path / "outside.json")
    assert reason(project, "link.json") == "link_refused"


def test_what_is_no_file_is_refused(project: Any) -> None:
    assert reason(project, "missing.json") == "not_found"
    assert reason(project, "docs") == "not_regular"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{} {}",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": \xff}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda content: content[:16].decode("latin-1"),
)
def test_what_is_no_plain_json_is_refused(project: Any, content: bytes) -> None:
    (project.root / "bad.json").write_bytes(content)
    with pytest.raises(CommandError) as caught:
        read_input(str(project.root), str(project.root), "bad.json")
    assert caught.value.code == "INPUT_INVALID"


def test_a_document_that_is_too_large_is_refused(project: Any) -> None:
    (project.root / "large.json").write_bytes(b" " * (MAX_INPUT_BYTES + 1))
    assert reason(project, "large.json") == "too_large"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "the document"),
        ({"other": 1}, "the document"),
        ({"question": 5}, "question"),
        ({"question": "  "}, "question"),
        ({"question": "a\u0000b"}, "question"),
        ({"question": "a\u007fb"}, "question"),
        ({"question": "\ud800"}, "question"),
        ({"question": None}, "question"),
        ({}, "question"),
        ({"question": "x", "topK": 0}, "topK"),
        ({"question": "x", "topK": True}, "topK"),
        ({"question": "x", "topK": "5"}, "topK"),
        ({"question": "x", "topK": 1.5}, "topK"),
        ({"question": "x", "scope": "ALL"}, "scope"),
        ({"question": "x", "view": 42}, "view"),
        ({"question": "x", "explain": 1}, "explain"),
        ({"question": "x", "at": ""}, "at"),
    ],
)
def test_a_member_that_does_not_fit_is_named(cli: Any, project: Any, document: Any, field: str) -> None:
    project.write("request.json", json.dumps(document))
    done = cli("query", "--input", "request.json", "--format", "json")
    error = done.reply["error"]
    assert (done.code, error["code"], error["details"]["field"]) == (1, "INPUT_INVALID", field)


def test_a_refused_value_is_not_repeated(cli: Any, project: Any) -> None:
    project.write("request.json", json.dumps({"question": "x", "at": "canary\u0007"}))
    done = cli("query", "--input", "request.json", "--format", "both")
    assert "canary" not in done.out + done.err


def test_a_request_is_read_from_stdin(cli_process: Any) -> None:
    cli_process("init", "--yes")
    cli_process("ingest")
    document = json.dumps({"question": "crane", "topK": 1, "view": "full"}).encode()
    done = cli_process("query", "--input", "-", "--format", "json", stdin=document)
    assert (done.code, done.reply["data"]["query"], len(done.reply["data"]["hits"])) == (0, "crane", 1)


def test_entries_of_lists_are_named_by_their_place() -> None:
    given = InputObject({"turns": [{"id": "a"}, {"id": 5}]}, ["turns"])
    with pytest.raises(CommandError) as caught:
        [entry.text("id", limit=10) for entry in given.objects("turns", ["id"], items=5)]
    assert caught.value.details["field"] == "turns[1].id"


def test_lists_texts_and_objects_are_bounded() -> None:
    cases: list[tuple[dict[str, Any], Callable[[InputObject], object]]] = [
        ({"x": ["a"] * 4}, lambda given: given.texts("x", limit=5, items=3)),
        ({"x": "a" * 6}, lambda given: given.text("x", limit=5)),
        ({"x": {"a": {"b": {"c": 1}}}}, lambda given: given.json_object("x", depth=2)),
        ({"x": {"a": [1, 2, 3, 4]}}, lambda given: given.json_object("x", nodes=4)),
        ({"x": {"a": "\u0001"}}, lambda given: given.json_object("x")),
        ({"x": "2026-05-01T09:30:00"}, lambda given: given.moment("x")),
        ({"x": "yesterday"}, lambda given: given.moment("x")),
        ({"x": 2}, lambda given: given.fraction("x", default=0)),
    ]
    for document, read in cases:
        with pytest.raises(CommandError) as caught:
            read(InputObject(document, ["x"]))
        assert caught.value.code == "INPUT_INVALID"
