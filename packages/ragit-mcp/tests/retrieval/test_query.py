"""`query` from outside: the data of the command and the tool, on real repositories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.retrieval import Searcher, query

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def code_of(failing: Callable[[], Any]) -> str:
    """The code of the error that a call ends with."""
    with pytest.raises(RagitError) as caught:
        failing()
    return caught.value.code


def test_the_reply_has_the_members_of_the_contract(searcher: Searcher, repository: Any) -> None:
    data = query(searcher, "What happens when a request fails?", top_k=2)

    assert list(data) == [
        "query", "snapshotSha", "snapshot", "scope", "explain", "hits", "warnings", "redactionSummary",
    ]  # fmt: skip
    assert data["snapshotSha"] == data["snapshot"]["resolvedSha"] == repository.git("rev-parse", "HEAD")
    assert data["snapshot"]["status"] == "indexed"
    assert len(data["hits"]) == 2
    assert data["hits"][0]["path"] == "docs/retries.md"
    json.dumps(data)


def test_a_citation_names_the_lines_that_hold_the_passage(searcher: Searcher, repository: Any) -> None:
    for hit in query(searcher, "copies of the database file", view="full", top_k=10)["hits"]:
        citation = hit["citation"]
        lines = (repository.root / citation["path"]).read_text(encoding="utf-8").splitlines()
        cited = "\n".join(lines[citation["lineStart"] - 1 : citation["lineEnd"]])

        assert re.fullmatch(r"cite-[a-f0-9]{24}", citation["id"])
        assert hit["text"] == cited.strip()


@pytest.mark.parametrize("view", ["minimal", "default", "full"])
def test_each_view_cites_and_shows_what_the_contract_says(searcher: Searcher, view: Any) -> None:
    hit = query(searcher, "payments", view=view)["hits"][0]

    assert {"path", "sectionTitle", "scoreFinal", "citation", "scope", "originType", "authority"} <= set(hit)
    assert ("text" in hit) == (view == "full")
    assert ("excerpt" in hit) == (view != "full")
    assert ("scoreVector" in hit) == ("scoreKeyword" in hit) == (view != "minimal")
    assert "scoreBreakdown" not in hit


@pytest.mark.parametrize(("view", "characters"), [("minimal", 120), ("default", 200)])
def test_an_excerpt_is_cut_and_on_one_line(repository: Any, view: Any, characters: int) -> None:
    repository.commit({"docs/long.md": "# Long\n\n" + "quay\n  crane\t" * 60})
    with Searcher(repository.root, environ=repository.environ) as searcher:
        excerpt = query(searcher, "crane quay", view=view)["hits"][0]["excerpt"]

    assert len(excerpt) == characters + 3
    assert excerpt.startswith("quay crane quay")
    assert excerpt.endswith("...")


def test_an_explained_score_adds_up_to_what_is_shown(searcher: Searcher) -> None:
    for hit in query(searcher, "where are records kept", explain=True, top_k=10)["hits"]:
        told = hit["scoreBreakdown"]
        parts = (told["retrieval"], told["authority"], told["recency"])

        assert sum(part["contribution"] for part in parts) == pytest.approx(hit["scoreFinal"], abs=2e-6)
        assert told["retrieval"]["inputs"]["vector"]["score"] == hit["scoreVector"]
        assert told["retrieval"]["inputs"]["keyword"]["score"] == hit["scoreKeyword"]


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"retrieval.alpha": 1}, "scoreVector"),
        ({"retrieval.keyword_enabled": False, "retrieval.alpha": 0.2}, "scoreVector"),
        ({"retrieval.alpha": 0}, "scoreKeyword"),
    ],
)
def test_at_the_ends_of_alpha_one_side_alone_decides(
    repository: Any, searcher: Searcher, settings: dict[str, Any], shown: str
) -> None:
    repository.write_config(settings)

    hits = query(searcher, "copies of records", top_k=10)["hits"]

    assert hits
    for hit in hits:
        assert hit["scoreFinal"] == pytest.approx(0.8 * hit[shown] + 0.2, abs=2e-6)
        assert hit["scoreVector" if shown == "scoreKeyword" else "scoreKeyword"] == 0


def test_keywords_alone_need_no_model(repository: Any) -> None:
    repository.write_config({"retrieval.alpha": 0})

    def opener(*_: Any) -> Any:
        raise AssertionError("nothing is to be embedded")

    with Searcher(repository.root, environ=repository.environ, opener=opener) as searcher:
        assert query(searcher, "payments")["hits"]


def test_an_older_commit_answers_with_its_own_text(repository: Any, searcher: Searcher) -> None:
    older = repository.git("rev-parse", "HEAD")
    repository.commit({
        "docs/storage.md": "# Storage\n\n## Where records are kept\n\nRecords live in the moon base.\n"
    })

    now = query(searcher, "where are records kept", view="full")["hits"]
    then = query(searcher, "where are records kept", at=older[:10], view="full")

    assert any("moon base" in hit["text"] for hit in now)
    assert not any("SQLite" in hit["text"] for hit in now)
    assert then["snapshot"]["selection"] == "explicit-exact"
    assert any("SQLite" in hit["text"] for hit in then["hits"])
    assert not any("moon base" in hit["text"] for hit in then["hits"])


def test_another_branch_that_is_indexed_does_not_stand_in(repository: Any, searcher: Searcher) -> None:
    repository.git("checkout", "-q", "-b", "side")
    repository.commit({"docs/side.md": "# Side\n\nOnly here.\n"}, index=False)

    assert code_of(lambda: query(searcher, "records")) == "SNAPSHOT_NOT_INDEXED"


def test_changes_that_are_not_committed_are_warned_of_and_left_out(
    repository: Any, searcher: Searcher
) -> None:
    (repository.root / "docs" / "storage.md").write_text("# Storage\n\nxylophone\n", encoding="utf-8")

    data = query(searcher, "xylophone storage", view="full", top_k=10)

    assert data["snapshot"]["worktreeDirty"] is True
    assert len(data["warnings"]) == 1
    assert not any("xylophone" in hit["text"] for hit in data["hits"])


def test_no_provider_is_asked_before_the_snapshot_is_known_to_be_readable(repository: Any) -> None:
    def opener(*_: Any) -> Any:
        raise AssertionError("too early")

    with Searcher(repository.root, environ=repository.environ, opener=opener) as searcher:
        (repository.root / ".ragit" / "store" / "current.json").unlink(missing_ok=True)
        for file in (repository.root / ".ragit" / "store").iterdir():
            file.unlink()
        assert code_of(lambda: query(searcher, "records")) == "SNAPSHOT_STORE_UNAVAILABLE"
        repository.commit({"docs/new.md": "# New\n\nNot indexed.\n"}, index=False)
        assert code_of(lambda: query(searcher, "records")) == "SNAPSHOT_NOT_INDEXED"


def test_a_store_of_another_provider_is_refused_with_what_helps(repository: Any, searcher: Searcher) -> None:
    repository.write_config({"embedding.provider": "local-placeholder"})

    with pytest.raises(RagitError) as caught:
        query(searcher, "records")

    assert caught.value.code == "SNAPSHOT_STORE_UNAVAILABLE"
    assert caught.value.details["reason"] == "embedding_contract"
    assert caught.value.details["resolvedSha"]
    assert caught.value.recovery == "ragit ingest --all"


def test_a_secret_in_the_question_is_masked_counted_and_named(searcher: Searcher) -> None:
    data = query(searcher, f"what is {SECRET}")

    assert SECRET not in json.dumps(data)
    assert data["redactionSummary"] == {"applied": True, "maskedCount": 1, "sources": ["query"]}


def test_a_secret_never_reaches_the_embedder(repository: Any) -> None:
    from ragit_mcp.embedding import open_embedder

    seen: list[str] = []

    def opener(config: Any, root: str) -> Any:
        embedder = open_embedder(config, root, environ=repository.environ)
        embed = embedder.embed

        def spying(texts: Any, **options: Any) -> Any:
            seen.extend(texts)
            return embed(texts, **options)

        embedder.embed = spying  # type: ignore[method-assign]
        return embedder

    with Searcher(repository.root, environ=repository.environ, opener=opener) as searcher:
        query(searcher, f"records {SECRET}")

    assert seen
    assert not any(SECRET in text for text in seen)


def test_finding_nothing_tells_how_to_index_what_was_left_out(repository: Any, searcher: Searcher) -> None:
    repository.write_config({"retrieval.alpha": 0})
    repository.commit({"notes/one.md": "# Zyzzyva\n\nzyzzyva\n", "notes/two.mdx": "# Two\n"})

    data = query(searcher, "zyzzyva")

    assert data["hits"] == []
    assert any(
        'ragit config set ingest.include "README.md,docs/**,notes/**"' in text for text in data["warnings"]
    )
    assert any(text.startswith("2 ") for text in data["warnings"])


def test_an_empty_snapshot_finds_nothing_and_says_so(make_repository: Callable[[str], Any]) -> None:
    made = make_repository("empty")
    made.commit({"main.py": "pass\n"})

    data = query(made.root, "anything", environ=made.environ)

    assert data["hits"] == []
    assert data["warnings"]


@pytest.mark.parametrize(
    ("arguments", "field", "reason"),
    [
        ({"question": "  "}, "question", "blank"),
        ({"question": "x" * 100_001}, "question", "too_long"),
        ({"top_k": 0}, "topK", "out_of_range"),
        ({"top_k": -1}, "topK", "out_of_range"),
        ({"top_k": 5000}, "topK", "out_of_range"),
        ({"top_k": 1.5}, "topK", "not_integer"),
        ({"top_k": True}, "topK", "not_integer"),
        ({"scope": "everything"}, "scope", "not_a_choice"),
        ({"view": "huge"}, "view", "not_a_choice"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_field_and_reason(
    searcher: Searcher, arguments: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(RagitError) as caught:
        query(searcher, **{"question": "records", **arguments})

    assert caught.value.code == "INPUT_INVALID"
    assert caught.value.details == {"field": field, "reason": reason}


def test_more_hits_than_there_are_passages_is_all_of_them_once(searcher: Searcher) -> None:
    hits = query(searcher, "records of payments in the log", top_k=1000)["hits"]

    ids = [hit["citation"]["id"] for hit in hits]
    assert len(ids) == len(set(ids))
    scores = [hit["scoreFinal"] for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_a_repeated_passage_is_cited_at_both_places(repository: Any) -> None:
    twice = "# Tides\n\n## Note\n\nBeware of the ebb.\n\n# Tides\n\n## Note\n\nBeware of the ebb.\n"
    repository.commit({"docs/tides.md": twice})

    hits = query(repository.root, "ebb", top_k=2, environ=repository.environ)["hits"]

    assert [hit["citation"]["lineStart"] for hit in hits if hit["path"] == "docs/tides.md"].count(5) == 1
    assert {hit["citation"]["lineStart"] for hit in hits} == {5, 11}


def test_artifacts_appear_in_their_scopes_only(
    repository: Any, searcher: Searcher, artifact: Callable[..., dict[str, Any]]
) -> None:
    repository.write_artifact(artifact(1))
    repository.write_artifact(artifact(2, "harness", "case"))
    repository.write_artifact(artifact(3, status="captured"))

    def found(scope: str) -> list[tuple[str, str, str]]:
        hits = query(searcher, "who changes the lighthouse lamp", scope=scope, top_k=20)["hits"]
        return [(hit["originType"], hit["scope"], hit["artifactId"] or "") for hit in hits]

    assert {kind for kind, _, _ in found("durable")} == {"document"}
    assert found("session") == [("artifact", "session", artifact(1)["artifactId"])]
    assert found("harness") == [("artifact", "harness", artifact(2, "harness", "case")["artifactId"])]
    assert {kind for kind, _, _ in found("evidence")} == {"evidence"}
    assert len(found("evidence")) == 3
    assert {scope for _, scope, _ in found("all")} == {"durable", "session", "harness", "evidence"}


def test_an_artifact_grows_old_by_the_commits_clock(
    repository: Any, searcher: Searcher, artifact: Callable[..., dict[str, Any]]
) -> None:
    repository.write_artifact(artifact(1, updatedAt="2026-02-14T12:00:00+00:00"))

    hit = query(searcher, "lighthouse lamp", scope="session", explain=True)["hits"][0]

    assert hit["scoreBreakdown"]["recency"]["score"] == pytest.approx(0.5)
    assert hit["scoreBreakdown"]["authority"]["score"] == 0.8
    assert hit["citation"]["lineStart"] is None
    assert hit["citation"]["sourceSha"] == "c" * 40


def test_an_artifact_is_masked_though_its_file_is_not(
    repository: Any, searcher: Searcher, artifact: Callable[..., dict[str, Any]]
) -> None:
    repository.write_artifact(artifact(1, text=f"The lamp opens with {SECRET} only."))

    data = query(searcher, "lamp", scope="session", view="full")

    assert data["hits"]
    assert SECRET not in json.dumps(data)


def test_reading_leaves_no_trace_in_the_repository(repository: Any, searcher: Searcher) -> None:
    def state() -> dict[str, tuple[bytes, int]]:
        files = [path for path in repository.root.rglob("*") if path.is_file()]
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    query(searcher, "records", scope="all", explain=True)

    assert state() == before
