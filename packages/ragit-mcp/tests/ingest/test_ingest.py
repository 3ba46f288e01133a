"""Ingest in real repositories: what is indexed, what is told, what is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragit_mcp.corpus import read_document
from ragit_mcp.embedding.contract import EmbeddingContract
from ragit_mcp.errors import RagitError
from ragit_mcp.ingest import IngestCancelled, Progress
from ragit_mcp.ingest.documents import PreparedDocument
from ragit_mcp.snapshots import parse_manifest

Bench = Any
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def failure(call: Callable[[], object]) -> RagitError:
    with pytest.raises(RagitError) as caught:
        call()
    return caught.value


def note(word: str, name: str = "one") -> dict[str, str]:
    return {f"docs/{name}.md": f"# Note\n\nThe {word} stands in the yard.\n"}


class CountingEmbedder:
    """Vectors of a fixed rule, and how many texts were asked for."""

    def __init__(self, version: str = "1", dimensions: int = 8) -> None:
        self.contract = EmbeddingContract("counting", "model", version, dimensions)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return np.asarray(
            [
                [
                    (hash((text, place, self.contract.version)) % 1000) + 1
                    for place in range(self.contract.dimensions)
                ]
                for text in texts
            ],
            dtype=np.float32,
        )


# -- what is indexed


def test_documents_come_from_the_commit_and_not_from_the_work_tree(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.write({**note("zinnia"), **note("untracked", "two")})
    result = workbench.ingest()
    assert workbench.texts() == ["The anvil stands in the yard."]
    assert result.dirty_candidates == ["docs/one.md", "docs/two.md"]
    assert any("docs/one.md" in warning for warning in result.warnings)


def test_a_dirty_document_fails_a_strict_ingest_and_a_dirty_program_does_not(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), "src/main.c": "int x;"})
    workbench.write({"src/main.c": "int y;"})
    workbench.ingest(strict_clean=True)
    workbench.write(note("zinnia"))
    error = failure(lambda: workbench.ingest(strict_clean=True))
    assert (error.code, error.details, error.recovery) == (
        "INGEST_CANDIDATES_DIRTY", {"dirtyCandidates": ["docs/one.md"]}, "git status --short",
    )  # fmt: skip


def test_a_file_that_its_user_promised_not_to_change_is_dirty_if_it_did(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.git("update-index", "--assume-unchanged", "docs/one.md")
    workbench.write(note("zinnia"))
    assert workbench.ingest().dirty_candidates == ["docs/one.md"]


def test_documents_outside_the_globs_are_counted_with_the_command_that_adds_them(workbench: Bench) -> None:
    workbench.commit({
        **note("anvil"),
        "notes/a.md": "# A\n\nA.\n",
        "notes/b.mdx": "# B\n\nB.\n",
        "c.txt": "c",
    })
    warnings = " ".join(workbench.ingest().warnings)
    assert "2 .md or .mdx files" in warnings
    assert 'ragit config set ingest.include "README.md,docs/**,notes/**"' in warnings


def test_files_that_cannot_be_documents_are_skipped_and_counted(workbench: Bench) -> None:
    workbench.commit({
        **note("anvil"),
        "docs/large.md": b"x" * (6 << 20),
        "docs/noise.md": b"\xff\xff\xff\xff",
        "docs/utf16.md": "# Wide\n\nWide text.\n".encode("utf-16"),
        "docs/empty.md": b"",
        "docs/headings.md": "# Only\n\n## Headings\n",
    })
    result = workbench.ingest()
    assert (result.processed, result.skipped) == (4, 2)
    assert (
        workbench.texts() == ["The anvil stands in the yard.", "Wide text."]
        or "Wide text." in workbench.texts()
    )
    warnings = " ".join(result.warnings)
    assert "docs/large.md" in warnings
    assert "docs/noise.md" in warnings


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_in_the_commit_are_not_followed(workbench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n\nquokka\n", encoding="utf-8")
    workbench.write(note("anvil"))
    (workbench.path / "docs/leak.md").symlink_to(tmp_path / "outside.md")
    workbench.commit()
    result = workbench.ingest()
    assert (result.processed, result.skipped) == (1, 1)
    assert b"quokka" not in b"".join(workbench.bytes_below(".ragit").values())
    error = failure(lambda: workbench.ingest(mode="paths", paths=("docs/leak.md",)))
    assert (error.code, error.details["reason"]) == ("INGEST_PATH_INVALID", "not_regular")


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="file names there are Unicode")
def test_a_name_that_is_not_utf8_is_indexed_and_shown_escaped(workbench: Bench) -> None:
    (workbench.path / "docs").mkdir()
    with open(os.fsencode(workbench.path) + b"/docs/\xff\xfe.md", "wb") as file:
        file.write(b"# Odd\n\nOdd name.\n")
    workbench.commit()
    result = workbench.ingest()
    assert result.planned_files == ["docs/\\xff\\xfe.md"]
    assert workbench.texts() == ["Odd name."]
    manifest = json.loads((workbench.path / result.manifest_path).read_text(encoding="utf-8"))
    assert manifest["docs"][0]["path"] == "docs/\\xff\\xfe.md"
    again = workbench.ingest(mode="paths", paths=("docs/\udcff\udcfe.md",))
    assert again.unchanged


def test_equal_passages_keep_all_their_places(workbench: Bench) -> None:
    workbench.commit({"docs/a.md": "# T\n\nSame.\n\n# T\n\nSame.\n", "docs/b.md": "# T\n\nSame.\n"})
    result = workbench.ingest()
    assert (result.chunks, result.new_chunks) == (3, 2)
    selection = workbench.select()
    with selection.open_store() as store:
        members = selection.membership(store)
        documents = store.documents(members.documents)
        chunks = store.chunks(members.rows)
        ids = {
            documents[document].chunk_id(chunk.content_id, ordinal)
            for document, ordinal, chunk in zip(
                members.documents.tolist(), members.ordinals.tolist(), chunks, strict=True
            )
        }
    assert members.first_lines.tolist() == [3, 7, 3]
    assert len(ids) == 3


# -- modes and bases


def test_since_takes_over_the_base_and_what_changed(workbench: Bench) -> None:
    first = workbench.commit({**note("anvil"), **note("lathe", "two"), **note("mallet", "three")})
    workbench.ingest()
    workbench.commit({**note("bellows"), **note("fresh", "new")})
    (workbench.path / "docs/two.md").unlink()
    workbench.commit()
    result = workbench.ingest(mode="since", since=first[:10])
    assert sorted(text.split()[1] for text in workbench.texts()) == ["bellows", "fresh", "mallet"]
    assert len(result.deleted_document_ids) == 1
    assert result.planned_files == ["docs/new.md", "docs/one.md"]
    assert (result.new_documents, result.full_snapshot) == (2, False)


def test_since_head_itself_changes_nothing(workbench: Bench) -> None:
    commit = workbench.commit(note("anvil"))
    workbench.ingest()
    before = workbench.bytes_below(".ragit")
    assert workbench.ingest(mode="since", since=commit).unchanged
    assert workbench.bytes_below(".ragit") == before


def test_a_base_must_be_an_indexed_ancestor(workbench: Bench) -> None:
    first = workbench.commit(note("anvil"))
    workbench.git("checkout", "--quiet", "-b", "side")
    side = workbench.commit(note("side"))
    workbench.ingest()
    workbench.git("checkout", "--quiet", "main")
    workbench.commit(note("main"))
    assert failure(lambda: workbench.ingest(mode="since", since=side)).code == "INGEST_BASE_NOT_ANCESTOR"
    assert failure(lambda: workbench.ingest(mode="since", since=first)).code == "INGEST_BASE_NOT_INDEXED"
    assert failure(lambda: workbench.ingest(mode="since", since="zzzz")).code == "SNAPSHOT_REF_INVALID"
    assert (
        failure(lambda: workbench.ingest(mode="paths", paths=("docs/one.md",))).code
        == "INGEST_BASE_NOT_INDEXED"
    )


def test_a_damaged_manifest_of_the_base_is_told_as_such(workbench: Bench) -> None:
    first = workbench.commit(note("anvil"))
    result = workbench.ingest()
    workbench.commit(note("bellows"))
    (workbench.path / result.manifest_path).write_bytes(b"{")
    assert failure(lambda: workbench.ingest(mode="since", since=first)).code == "SNAPSHOT_MANIFEST_INVALID"
    workbench.ingest()
    assert workbench.texts() == ["The bellows stands in the yard."]


def test_named_files_join_the_snapshot_of_head_or_its_parent(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), "notes/a.md": "# A\n\nA.\n", "notes/b.md": "# B\n\nB.\n"})
    workbench.ingest()
    workbench.ingest(mode="paths", paths=("./notes//a.md",))
    assert workbench.texts() == ["The anvil stands in the yard.", "A."]
    workbench.commit({**note("bellows"), "notes/b.md": "# B\n\nBB.\n"})
    result = workbench.ingest(mode="files", files="notes/*.md,!**/a.md")
    # What is taken over from the parent is taken as HEAD has it.
    assert workbench.texts() == ["The bellows stands in the yard.", "A.", "BB."]
    assert result.planned_files == ["notes/b.md"]


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/hosts.md", ".git/x.md", "docs/x.txt", "docs/none.md", "", "a\nb.md"]
)
def test_a_path_that_cannot_be_indexed_is_refused(workbench: Bench, path: str) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    assert failure(lambda: workbench.ingest(mode="paths", paths=(path,))).code == "INGEST_PATH_INVALID"


def test_a_named_document_that_is_gone_leaves_the_snapshot(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), **note("lathe", "two")})
    workbench.ingest()
    (workbench.path / "docs/two.md").unlink()
    workbench.commit()
    result = workbench.ingest(mode="paths", paths=("docs/two.md",))
    assert len(result.deleted_document_ids) == 1
    assert workbench.texts() == ["The anvil stands in the yard."]


def test_a_repository_without_commit_is_told_and_left_alone(workbench: Bench) -> None:
    assert failure(workbench.ingest).code == "SNAPSHOT_NOT_INDEXED"
    assert not (workbench.path / ".ragit").exists()


def test_a_commit_without_documents_is_indexed(workbench: Bench) -> None:
    workbench.commit({"src/main.c": "int x;"})
    result = workbench.ingest()
    assert (result.documents, result.chunks, result.search_ready) == (0, 0, True)
    assert workbench.texts() == []


# -- only what is new


def test_only_new_passages_are_embedded_and_only_new_documents_read(workbench: Bench) -> None:
    embedder = CountingEmbedder()
    workbench.commit({f"docs/{number}.md": f"# T{number}\n\nText {number}.\n" for number in range(20)})
    workbench.ingest(embedder=embedder)
    assert len(embedder.texts) == 20
    workbench.commit({"docs/3.md": "# T3\n\nText 3.\n\n## More\n\nAnother.\n"})
    result = workbench.ingest(embedder=embedder)
    assert (len(embedder.texts), result.new_documents, result.new_chunks) == (21, 1, 1)
    workbench.commit({"src/main.c": "int x;"})
    result = workbench.ingest(embedder=embedder)
    assert (len(embedder.texts), result.new_documents, result.new_chunks) == (21, 0, 0)
    assert len(workbench.texts()) == 21


def test_time_travel_returns_the_older_texts(workbench: Bench) -> None:
    commits = []
    for word in ("anvil", "bellows", "chisel"):
        commits.append(workbench.commit(note(word)))
        workbench.ingest()
    for commit, word in zip(commits, ("anvil", "bellows", "chisel"), strict=True):
        assert workbench.texts(commit) == [f"The {word} stands in the yard."]


def test_the_index_grows_with_the_changes(workbench: Bench) -> None:
    def size() -> int:
        return sum(map(len, workbench.bytes_below(".ragit").values()))

    workbench.commit({
        f"docs/{number}.md": f"# T{number}\n\n" + f"text {number} " * 80 for number in range(200)
    })
    workbench.ingest()
    before = size()
    for number in range(30):
        workbench.commit({"docs/7.md": f"# T7\n\nchange {number} " + "words " * 100})
        workbench.ingest()
    assert (size() - before) / before < 0.25
    assert len(workbench.generations()) == 1


def test_ingesting_again_writes_nothing(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    before = workbench.bytes_below(".ragit")
    result = workbench.ingest()
    assert (result.unchanged, result.search_ready, result.documents) == (True, True, 1)
    assert workbench.bytes_below(".ragit") == before


def test_a_dry_run_writes_nothing_and_embeds_nothing(workbench: Bench) -> None:
    embedder = CountingEmbedder()
    workbench.commit({**note("anvil"), "docs/secrets.md": f"# S\n\nA=1\nB=2\nTOKEN={TOKEN}\n"})
    workbench.write(note("zinnia"))
    result = workbench.ingest(dry_run=True, strict_clean=True, embedder=embedder)
    assert (result.mode, result.processed, result.skipped, result.would_fail) == ("dry-run", 1, 1, True)
    assert result.to_json()["admission"]["blocked"] == 1
    assert embedder.texts == []
    assert not (workbench.path / ".ragit").exists()


# -- secrets


def test_no_byte_of_a_secret_reaches_the_index_the_model_or_the_result(workbench: Bench) -> None:
    embedder = CountingEmbedder()
    workbench.commit({
        "docs/body.md": f"# Body\n\nUse {TOKEN} here.\n",
        "docs/heading.md": f"# The {TOKEN} heading\n\nText.\n",
        f"docs/{TOKEN}.md": "# Name\n\nA file name.\n",
        "docs/front.md": f"---\ntitle: {TOKEN}\ntoken: {TOKEN}\n---\n# Front\n\nMatter.\n",
        "docs/code.md": f"# Code\n\n```\nexport GITHUB_TOKEN={TOKEN}\n```\n",
        "docs/odd.md": f"# Odd\n\n{TOKEN}{TOKEN}\n",
    })  # fmt: skip
    workbench.git("commit", "--quiet", "--allow-empty", "-m", f"message {TOKEN}")
    result = workbench.ingest(embedder=embedder, environ={"RAGIT_SECURITY_ADMISSION_MODE": "report-only"})
    assert result.masked >= 6
    secret = TOKEN[6:]
    everything = {
        **workbench.bytes_below(".ragit"),
        "result": json.dumps(result.to_json()).encode(),
        "model": "\n".join(embedder.texts).encode(),
        "names": "\n".join(str(path) for path in (workbench.path / ".ragit").rglob("*")).encode(),
    }
    assert [name for name, content in everything.items() if secret.encode() in content] == []
    assert [name for name, content in everything.items() if secret.lower().encode() in content.lower()] == []
    assert len(workbench.texts()) == 6


def test_a_document_full_of_credentials_is_kept_out_and_logged(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), "docs/dump.md": f"# D\n\nA=1\nB=2\nTOKEN={TOKEN}\n"})
    result = workbench.ingest()
    assert (result.processed, result.skipped) == (1, 1)
    admission = result.to_json()["admission"]
    assert (admission["blocked"], admission["items"][0]["sourceRef"]) == (1, "docs/dump.md")
    log = b"".join(workbench.bytes_below(".ragit/security/admission").values())
    assert b"docs/dump.md" in log
    assert len(log.splitlines()) == 1
    assert workbench.ingest().to_json()["admission"] == admission  # remembered, and not logged again
    assert b"".join(workbench.bytes_below(".ragit/security/admission").values()) == log


def test_a_named_document_full_of_credentials_is_an_error(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), "docs/dump.md": f"# D\n\nA=1\nB=2\nTOKEN={TOKEN}\n"})
    workbench.ingest()
    before = workbench.texts()
    error = failure(lambda: workbench.ingest(mode="paths", paths=("docs/dump.md",)))
    assert (error.code, error.details) == ("INGEST_DOCUMENT_BLOCKED", {"paths": ["docs/dump.md"]})
    assert workbench.texts() == before


def test_a_change_of_admission_reads_documents_anew(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), "docs/dump.md": f"# D\n\nA=1\nB=2\nTOKEN={TOKEN}\n"})
    workbench.ingest()
    assert len(workbench.texts()) == 1
    result = workbench.ingest(environ={"RAGIT_SECURITY_ADMISSION_MODE": "report-only"})
    assert (len(workbench.texts()), result.unchanged) == (2, False)


def test_nothing_is_indexed_unmasked(workbench: Bench) -> None:
    workbench.commit({**note("anvil"), ".ragit/config.toml": "[security]\nsecret_masking = false\n"})
    error = failure(lambda: workbench.ingest(environ={"RAGIT_SECURITY_SECRET_MASKING": "false"}))
    assert (error.code, error.details) == ("CONFIG_INVALID", {"key": "security.secret_masking"})


# -- manifests, generations


def test_the_manifest_lists_what_its_base_has_not(workbench: Bench) -> None:
    first = workbench.commit({**note("anvil"), **note("lathe", "two")})
    result = workbench.ingest()
    value = json.loads((workbench.path / result.manifest_path).read_text(encoding="utf-8"))
    assert [document["path"] for document in value["docs"]] == ["docs/one.md", "docs/two.md"]
    assert all(document["sections"] == [] for document in value["docs"])
    assert value["chunks"] == sorted(value["chunks"], key=lambda chunk: chunk["id"])
    assert value["chunkScopes"]["durable"] == [chunk["id"] for chunk in value["chunks"]]
    assert (value["base"], value["parentSha"], value["commitSha"]) == (None, None, first)
    second = workbench.commit(note("bellows"))
    result = workbench.ingest()
    data = (workbench.path / result.manifest_path).read_bytes()
    manifest = parse_manifest(data, second)
    assert (manifest.base, manifest.parent_sha) == (first, first)
    assert [document["path"] for document in manifest.docs] == ["docs/one.md"]
    assert manifest.membership is not None
    assert (manifest.membership.documents, manifest.membership.chunks) == (2, 2)


def test_what_no_manifest_means_any_more_goes_at_a_full_ingest(workbench: Bench) -> None:
    commits = []
    for word in ("anvil", "bellows", "chisel"):
        commits.append(workbench.commit(note(word)))
        workbench.ingest()
    (workbench.path / f".ragit/manifest/{commits[0]}.json").unlink()
    workbench.commit({"src/x.c": "x"})
    workbench.ingest()
    content = workbench.generations()[0].read_bytes()
    assert b"anvil" not in content
    assert b"bellows" in content
    assert workbench.texts(commits[1]) == ["The bellows stands in the yard."]
    with workbench.store() as store:
        store.check()
        assert store.statistics().chunks == len(store.vectors()) == 2


def test_a_partial_ingest_makes_a_fresh_file_only_for_much_that_is_not_needed(workbench: Bench) -> None:
    texts = {f"docs/{number}.md": f"# T\n\nText {number}.\n" for number in range(20)}
    commits = [workbench.commit({**texts, **note("anvil")})]
    workbench.ingest()
    commits.append(workbench.commit(note("bellows")))
    workbench.ingest()
    (workbench.path / f".ragit/manifest/{commits[0]}.json").unlink()
    commits.append(workbench.commit(note("chisel")))
    workbench.ingest(mode="since", since=commits[1])
    assert b"anvil" in workbench.generations()[0].read_bytes()
    workbench.ingest()
    assert b"anvil" not in workbench.generations()[0].read_bytes()
    assert len(workbench.texts(commits[1])) == len(workbench.texts(commits[2])) == 21
    commits.append(workbench.commit({name: "# U\n\n" + text for name, text in texts.items()}))
    workbench.ingest()
    (workbench.path / f".ragit/manifest/{commits[3]}.json").unlink()
    commits.append(workbench.commit({name: "# V\n\n" + text for name, text in texts.items()}))
    workbench.ingest(mode="since", since=commits[2])
    with workbench.store() as store:
        assert store.rows("SELECT count(*) FROM chunk WHERE heading_path LIKE '%\"U\"%'") == [(0,)]


def test_a_manifest_whose_commit_is_gone_goes_too(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.git("checkout", "--quiet", "--detach")
    lost = workbench.commit(note("bellows"))
    workbench.ingest()
    workbench.git("checkout", "--quiet", "main")
    workbench.git("reflog", "expire", "--expire=now", "--all")
    workbench.git("gc", "--quiet", "--prune=now")
    workbench.ingest()
    assert not (workbench.path / f".ragit/manifest/{lost}.json").exists()


def test_a_generation_that_a_reader_holds_stays_until_it_is_let_go(workbench: Bench) -> None:
    if os.name == "nt":
        pytest.skip("an open file cannot be deleted there anyway")
    workbench.commit(note("anvil"))
    workbench.ingest()
    with workbench.store() as held:
        workbench.commit(note("bellows"))
        workbench.ingest()
        assert len(workbench.generations()) == 2
        assert [chunk.text for chunk in held.chunks([1])] == ["The anvil stands in the yard."]
    workbench.commit(note("chisel"))
    workbench.ingest()
    assert len(workbench.generations()) == 1


def test_vectors_of_another_model_are_refused_until_everything_is_indexed_anew(workbench: Bench) -> None:
    first = workbench.commit(note("anvil"))
    workbench.ingest(embedder=CountingEmbedder("1"))
    workbench.commit(note("bellows"))
    newer = CountingEmbedder("2", dimensions=16)
    error = failure(lambda: workbench.ingest(mode="since", since=first, embedder=newer))
    assert (error.code, error.details["reason"], error.recovery) == (
        "SNAPSHOT_STORE_UNAVAILABLE", "embedding_contract", "ragit ingest --all",
    )  # fmt: skip
    workbench.ingest(embedder=newer)
    assert len(newer.texts) == 2  # the older snapshot's passages too
    assert workbench.texts(first) == ["The anvil stands in the yard."]
    with workbench.store() as store:
        assert store.contract == newer.contract
        assert store.vectors().shape == (2, 16)


@pytest.mark.parametrize("damage", ["garbled", "pointer", "gone", "truncated"])
def test_a_damaged_store_is_built_anew(workbench: Bench, damage: str) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    path = workbench.generations()[0]
    data = path.read_bytes()
    if damage == "garbled":
        path.write_bytes(data[:100] + b"\xa5" * (len(data) - 100))
    elif damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "gone":
        path.unlink()
    else:
        (workbench.path / ".ragit/store/meta.json").write_bytes(b"{}")
    result = workbench.ingest()
    assert workbench.texts() == ["The anvil stands in the yard."]
    assert not result.unchanged
    assert len(workbench.generations()) == 1


def test_leftovers_of_interrupted_ingests_go(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    leftovers = [
        workbench.path / ".ragit/store" / ("0" * 32 + ".db"),
        workbench.path / ".ragit/store" / ("0" * 32 + ".db-journal"),
        workbench.path / ".ragit/store" / ".meta.json.12.tmp",
        workbench.path / ".ragit/manifest" / ".x.json.12.tmp",
    ]
    for path in leftovers:
        path.write_bytes(b"x")
    kept = workbench.path / ".ragit/store" / "notes.txt"
    kept.write_bytes(b"somebody's own")
    workbench.commit(note("bellows"))
    workbench.ingest()
    assert [path for path in leftovers if path.exists()] == []
    assert kept.exists()


def test_a_head_that_moves_meanwhile_publishes_nothing(workbench: Bench) -> None:
    workbench.commit(note("anvil"))

    def move(progress: Progress) -> None:
        if progress.stage == "verifying":
            workbench.commit(note("moved"))

    error = failure(lambda: workbench.ingest(progress=move))
    assert error.code == "REPOSITORY_STATE_CHANGED"
    assert workbench.generations() == []
    assert list((workbench.path / ".ragit/manifest").glob("*.json")) == []


@pytest.mark.parametrize("stage", ["planning", "reading", "embedding", "verifying", "publishing"])
def test_a_cancelled_ingest_publishes_nothing(workbench: Bench, stage: str) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    workbench.commit(note("bellows"))
    before = workbench.bytes_below(".ragit/store"), workbench.bytes_below(".ragit/manifest")
    seen: list[str] = []
    with pytest.raises(IngestCancelled):
        workbench.ingest(progress=lambda progress: seen.append(progress.stage), cancel=lambda: stage in seen)
    assert (workbench.bytes_below(".ragit/store"), workbench.bytes_below(".ragit/manifest")) == before
    assert not (workbench.path / ".ragit/runtime/store-write.lock").exists()


def test_progress_counts_files_and_chunks(workbench: Bench) -> None:
    workbench.commit({f"docs/{number}.md": f"# T{number}\n\nText.\n" for number in range(5)})
    seen: list[Progress] = []
    workbench.ingest(progress=seen.append)
    assert seen[0].stage == "planning"
    assert seen[-1] == Progress("done", files_done=5, files_total=5, chunks_embedded=5, chunks_new=5)


def test_a_provider_that_breaks_its_contract_publishes_nothing(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    for bad in (np.zeros((1, 3)), np.full((1, 8), np.nan), np.zeros((2, 8))):
        embedder = CountingEmbedder()
        embedder.embed = lambda texts, bad=bad: bad  # type: ignore[method-assign, misc]
        assert failure(lambda: workbench.ingest(embedder=embedder)).code == "DIMENSION_MISMATCH"  # noqa: B023
    assert workbench.generations() == []


# -- artifacts


def artifact(scope: str, text: str) -> PreparedDocument:
    document = read_document(f"artifacts/{scope}.md", f"# Artifact\n\n{text}\n")
    return PreparedDocument(
        version_id=f"{scope}-{text}", document_id=scope, path=f"artifacts/{scope}.md", doc_type="doc", title=None,
        blob_id="", hash="", line_count=3, chunks=document.chunks, masked_count=0, scope=scope,
        artifact={"artifactId": f"art_{scope}", "kind": "insight"},
    )  # fmt: skip


def test_artifacts_belong_to_their_scopes(workbench: Bench) -> None:
    commit = workbench.commit(note("anvil"))
    artifacts = [artifact("session", "learned"), artifact("harness", "checked"), artifact("evidence", "seen")]
    result = workbench.ingest(artifacts=artifacts)
    assert workbench.texts() == ["The anvil stands in the yard."]
    assert workbench.texts(scope="session") == ["learned"]
    assert workbench.texts(scope="evidence") == ["seen"]
    assert len(workbench.texts(scope="all")) == 4
    assert result.bound_artifact_ids == ["art_evidence", "art_harness", "art_session"]
    manifest = parse_manifest((workbench.path / result.manifest_path).read_bytes(), commit)
    assert [len(manifest.chunk_scopes[scope]) for scope in ("durable", "session", "harness", "evidence")] == [
        1
    ] * 4
    assert {entry["artifactId"] for entry in manifest.artifact_entries} == set(result.bound_artifact_ids)
    assert workbench.ingest(artifacts=artifacts).unchanged
    workbench.ingest()
    assert workbench.texts(scope="session") == []


# -- the house


def test_nothing_that_reads_can_reach_a_module_that_writes() -> None:
    source = Path(__file__).parents[2] / "src" / "ragit_mcp"
    imported = {
        path.relative_to(source).as_posix()
        for room in ("store", "snapshots", "corpus", "safety")
        for path in (source / room).rglob("*.py")
        if "ragit_mcp.ingest" in path.read_text(encoding="utf-8").replace("`ragit_mcp.ingest`", "")
    }
    assert imported == set()


def test_a_second_process_reads_what_the_first_one_wrote(workbench: Bench) -> None:
    workbench.commit(note("anvil"))
    workbench.ingest()
    program = (
        "import sys\n"
        "from ragit_mcp.snapshots import open_repository, select_snapshot\n"
        "selection = select_snapshot(open_repository(sys.argv[1]))\n"
        "with selection.open_store() as store:\n"
        "    print(store.chunks(selection.membership(store).rows)[0].text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(workbench.path)],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "The anvil stands in the yard.\n", "")
