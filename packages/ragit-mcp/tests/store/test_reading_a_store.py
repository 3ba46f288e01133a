"""The store as readers see it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.store import Field, Store, StoreHolder, open_store, query_terms, read_pointer, text_terms
from ragit_mcp.store.layout import parse_pointer

Bench = Any

DOCUMENTS = {
    "docs/one.md": "# Anchor\n\nThe anchor holds the anchor chain.\n\n## Chain\n\nA chain of links.\n",
    "docs/two.md": "# Bell\n\nA bell rings. 항구 크레인은 높다.\n",
    "README.md": "# Yard\n\nTools and a bell.\n",
}


@pytest.fixture
def bench(workbench: Bench) -> Bench:
    workbench.commit(DOCUMENTS)
    workbench.ingest()
    return workbench


def reason_of(call: Callable[[], object]) -> str:
    with pytest.raises(RagitError) as caught:
        call()
    assert caught.value.code == "SNAPSHOT_STORE_UNAVAILABLE"
    return str(caught.value.details["reason"])


def test_a_snapshot_holds_every_passage_at_its_place(bench: Bench) -> None:
    selection = bench.select()
    with selection.open_store() as store:
        members = selection.membership(store)
        documents = store.documents(members.documents)
        places = [
            (documents[document].path, ordinal, first, last, chunk.section_title)
            for document, ordinal, first, last, chunk in zip(
                members.documents.tolist(),
                members.ordinals.tolist(),
                members.first_lines.tolist(),
                members.last_lines.tolist(),
                store.chunks(members.rows),
                strict=True,
            )
        ]
    assert places == [
        ("README.md", 0, 3, 3, "Yard"),
        ("docs/one.md", 0, 3, 3, "Anchor"),
        ("docs/one.md", 1, 7, 7, "Chain"),
        ("docs/two.md", 0, 3, 3, "Bell"),
    ]
    assert members.document_count == 3
    assert [members.places_of(int(row)) for row in members.rows] == [[0], [1], [2], [3]]


def test_terms_are_looked_up_by_field_and_frequency(bench: Bench) -> None:
    with bench.store() as store:

        def titles(term: str, *options: Any, **named: Any) -> set[str]:
            return {chunk.section_title for chunk in store.chunks(store.term_rows(term, *options, **named))}

        assert titles("anchor") == {"Anchor"}
        assert titles("anchor", at_least=2) == {"Anchor"}
        assert titles("anchor", at_least=3) == set()
        assert titles("anchor", Field.HEADINGS) == {"Anchor", "Chain"}
        assert titles(query_terms("one")[0], Field.PATH) == {"Anchor", "Chain"}
        assert titles("bell") == {"Bell", "Yard"}
        assert titles("항구") == titles("구") == {"Bell"}
        assert titles("nothing") == set()
        assert titles('"') == titles("NEAR(") == titles("a OR b") == titles("") == set()


def test_the_index_finds_exactly_the_passages_that_have_a_term(workbench: Bench) -> None:
    chance = random.Random(3)
    words = ["alpha", "Beta", "gamma_delta", "epsilon's", "ζήτα", "항구", "東京", "x1", "running", "ran"]
    workbench.commit({
        f"docs/{number}.md": "# T\n\n" + " ".join(chance.choices(words, k=30)) for number in range(40)
    })
    workbench.ingest()
    with workbench.store() as store:
        count = store.statistics().chunks
        chunks = store.chunks(range(1, count + 1))
        for word in words:
            for term in query_terms(word):
                for least in (1, 2, 3, 5, 9):
                    expected = [chunk.row for chunk in chunks if text_terms(chunk.text).count(term) >= least]
                    assert store.term_rows(term, at_least=least).tolist() == expected


def test_vectors_are_one_block_and_agree_with_the_extension(bench: Bench) -> None:
    with bench.store() as store:
        block = store.vectors()
        assert block.dtype == np.float32
        assert block.shape == (store.statistics().chunks, store.contract.dimensions)
        assert np.allclose(np.linalg.norm(block, axis=1), 1, atol=1e-6)
        for row in range(1, len(block) + 1):
            found = store.nearest(block[row - 1], len(block))
            for other, distance in found:
                expected = 1 - float(block[row - 1] @ block[other - 1])
                assert distance == pytest.approx(expected, abs=1e-5)


def test_vectors_are_read_whatever_the_number_of_segments(workbench: Bench) -> None:
    workbench.commit({f"docs/{number}.md": f"# T\n\nword{number}\n" for number in range(600)})
    workbench.ingest()
    workbench.commit({f"docs/more{number}.md": f"# T\n\nother{number}\n" for number in range(300)})
    workbench.ingest()
    with workbench.store() as store:
        block = store.vectors()
        stored = store.rows("SELECT rowid, chunk_offset FROM vectors_rowids ORDER BY rowid")
        assert len(block) == len(stored) == 900
        for row in (1, 256, 257, 600, 601, 900):
            assert store.nearest(block[row - 1], 1)[0][1] == pytest.approx(0, abs=1e-6)


def test_reading_leaves_no_file_and_touches_none(bench: Bench) -> None:
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns)
        for path in (bench.path / ".ragit").rglob("*")
    }
    bench.texts()
    with bench.store() as store:
        store.vectors()
        store.check()
        store.term_rows("anchor")
        store.nearest(store.vectors()[0], 2)
        assert set((bench.path / ".ragit").rglob("*")) == set(before)
    assert {
        path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns)
        for path in (bench.path / ".ragit").rglob("*")
    } == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_store_without_write_permission_is_read(bench: Bench) -> None:
    for path in [*(bench.path / ".ragit").rglob("*"), bench.path / ".ragit"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert len(bench.texts()) == 4
    finally:
        for path in [bench.path / ".ragit", *(bench.path / ".ragit").rglob("*")]:
            path.chmod(0o755)


def test_nothing_but_our_statements_can_be_run(bench: Bench) -> None:
    with bench.store() as store:
        for statement in (
            "CREATE TABLE x (y)",
            "DELETE FROM chunk",
            "ATTACH ':memory:' AS other",
            "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = ''",
            "SELECT load_extension('x')",
        ):
            with pytest.raises(RagitError):
                store.rows(statement)
        assert store.statistics().chunks == 4


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("garbled", "corrupt"),
        ("empty", "corrupt"),
        ("longer", "corrupt"),
        ("gone", "missing"),
        ("header", "corrupt"),
        ("link", "link"),
        ("directory", "corrupt"),
    ],
)
def test_a_generation_that_is_not_as_published_is_not_read(bench: Bench, damage: str, reason: str) -> None:
    path = bench.generations()[0]
    data = path.read_bytes()
    if damage == "garbled":
        path.write_bytes(b"\0no store\xff" * (len(data) // 10) + b"x" * (len(data) % 10))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "longer":
        path.write_bytes(data + bytes(8192))
    elif damage == "header":
        path.write_bytes(data[:18] + b"\x02\x02" + data[20:])  # write-ahead log
    else:
        path.unlink()
        if damage == "link":
            shutil.copy(__file__, path.parent / "elsewhere")
            path.symlink_to("elsewhere")
        elif damage == "directory":
            path.mkdir()
    assert reason_of(bench.store) == reason


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON chunk BEGIN DELETE FROM chunk; END",
        "CREATE VIEW v AS SELECT * FROM chunk",
        "CREATE TABLE extra (x)",
        "CREATE INDEX extra ON chunk (text)",
        "CREATE VIRTUAL TABLE extra USING fts5(x)",
        "DROP TABLE snapshot",
        "ALTER TABLE chunk ADD COLUMN extra TEXT",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 1",
        "UPDATE meta SET value = 'other' WHERE key = 'model'",
        "DELETE FROM meta",
    ],
)
def test_a_database_with_another_schema_is_not_read(bench: Bench, statement: str) -> None:
    path = bench.generations()[0]
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()
    pointer = json.loads((bench.path / ".ragit/store/meta.json").read_text(encoding="utf-8"))
    pointer["bytes"] = path.stat().st_size
    (bench.path / ".ragit/store/meta.json").write_text(json.dumps(pointer), encoding="utf-8")
    assert reason_of(bench.store) in {"corrupt", "unsupported"}


def test_a_text_that_was_changed_in_the_file_is_not_served(bench: Bench) -> None:
    path = bench.generations()[0]
    data = path.read_bytes()
    assert data.count(b"A chain of links.") == 1
    path.write_bytes(data.replace(b"A chain of links.", b"A chain of lynxs."))
    assert reason_of(bench.texts) == "corrupt"


def test_no_damage_to_a_file_gives_anything_but_an_answer_or_the_code(bench: Bench) -> None:
    path = bench.generations()[0]
    data = path.read_bytes()
    chance = random.Random(300)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 5, 50])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            selection = bench.select()
            with selection.open_store() as store:
                members = selection.membership(store)
                store.chunks(members.rows)
                store.documents(members.documents)
                store.vectors()
                store.term_rows("anchor")
                store.check()
        except RagitError as error:
            assert error.code == "SNAPSHOT_STORE_UNAVAILABLE"  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{}", "invalid"),
        (b"", "invalid"),
        (b"[]", "invalid"),
        (b"\xff\xfe", "invalid"),
        (b"[" * 50_000, "invalid"),
        (b'{"layoutVersion": 9, "schemaVersion": 3}', "unsupported"),
    ],
)
def test_a_pointer_that_is_none_is_told(bench: Bench, content: bytes, reason: str) -> None:
    (bench.path / ".ragit/store/meta.json").write_bytes(content)
    assert reason_of(bench.store) == reason


def test_a_pointer_cannot_lead_elsewhere(bench: Bench) -> None:
    pointer = read_pointer(bench.path).to_json()
    for name in ("../x.db", "/etc/passwd", "a" * 32 + ".db/", "..", "", "x.db", "A" * 32 + ".db"):
        with pytest.raises(ValueError):
            parse_pointer(json.dumps({**pointer, "current": name}).encode())


def test_a_store_that_is_not_there_is_told(workbench: Bench) -> None:
    assert reason_of(workbench.store) == "missing"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("place", [".ragit", ".ragit/store", ".ragit/store/meta.json"])
def test_nothing_is_read_through_a_link(bench: Bench, place: str, tmp_path: Path) -> None:
    shutil.move(bench.path / place, tmp_path / "elsewhere")
    (bench.path / place).symlink_to(tmp_path / "elsewhere")
    assert reason_of(bench.store) in {"unreadable", "link"}


def test_a_store_of_a_repository_with_an_odd_name_is_read(make_workbench: Callable[[str], Bench]) -> None:
    bench = make_workbench("with ?mode=rwc&x#y %41 ü space")
    bench.commit(DOCUMENTS)
    bench.ingest()
    assert len(bench.texts()) == 4


def test_a_store_is_used_from_several_threads_at_once(bench: Bench) -> None:
    failures: list[BaseException] = []
    with bench.store() as store:

        def work() -> None:
            try:
                for _ in range(50):
                    assert len(store.chunks(store.term_rows("bell"))) == 2
                    assert len(store.vectors()) == 4
            except BaseException as error:  # noqa: BLE001 - reported by the test
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_holder_follows_the_pointer_and_lets_calls_finish(bench: Bench) -> None:
    holder = StoreHolder(bench.path)
    with holder.use() as first:
        bench.commit({"docs/new.md": "# New\n\nSomething.\n"})
        bench.ingest()
        with holder.use() as second:
            assert second.generation != first.generation
            assert second.statistics().chunks == first.statistics().chunks + 1
        assert len(first.chunks([1, 2])) == 2
    with pytest.raises(RagitError):
        first.chunks([1])
    with holder.use() as third:
        assert third is second
    holder.close()
    with pytest.raises(RagitError):
        third.statistics()


def test_a_reader_that_met_the_older_pointer_opens_the_newer_generation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ragit_mcp.store.reader as reader

    older = read_pointer(bench.path)
    bench.commit({"docs/new.md": "# New\n\nSomething.\n"})
    bench.ingest()
    answers = iter([older])
    monkeypatch.setattr(reader, "read_pointer", lambda root: next(answers, None) or read_pointer(root))
    with open_store(bench.path) as store:
        assert store.statistics().chunks == 5


def test_importing_the_reading_rooms_loads_nothing_heavy_and_nothing_that_writes() -> None:
    program = (
        "import sys, ragit_mcp.store, ragit_mcp.snapshots\n"
        "heavy = {'numpy', 'apsw', 'sqlite_vec', 'tokenizers', 'httpx', 'git'}\n"
        "loaded = set(sys.modules)\n"
        "writing = {name for name in loaded if name.startswith('ragit_mcp.ingest') or name.endswith('.writing')}\n"
        "sys.exit(', '.join(sorted((heavy & loaded) | writing)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_closing_twice_is_nothing(bench: Bench) -> None:
    store: Store = bench.store()
    store.close()
    store.close()
