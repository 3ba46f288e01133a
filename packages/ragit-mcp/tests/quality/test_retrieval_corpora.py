from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.benchmarks.retrieval import corpora
from tests.benchmarks.retrieval.corpora import (
    CORPORA,
    Corpus,
    CorpusUnavailable,
    SourceDistribution,
    documents,
    is_fetched,
    write,
)

TOP = "harbour-1.0"


def packed(cache: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Corpus:
    """A corpus whose archive lies in the cache already."""
    archive = cache / f"{TOP}.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.SYMTYPE
            entry.linkname = target
            opened.addfile(entry)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return Corpus("harbour", "boats and berths", "MIT", SourceDistribution("harbour", "1.0", digest, "docs"))


def test_only_markdown_below_the_folder_is_taken_byte_for_byte(tmp_path: Path) -> None:
    corpus = packed(
        tmp_path,
        {
            f"{TOP}/docs/z.md": b"last\r\n",
            f"{TOP}/docs/guide/a.md": b"\xef\xbb\xbffirst",
            f"{TOP}/docs/a.png": b"picture",
            f"{TOP}/README.md": b"outside",
            "elsewhere/docs/b.md": b"another top",
        },
        {f"{TOP}/docs/link.md": "/etc/passwd"},
    )
    found = documents(corpus, tmp_path)
    assert list(found.items()) == [("docs/guide/a.md", b"\xef\xbb\xbffirst"), ("docs/z.md", b"last\r\n")]


def test_an_archive_of_other_bytes_is_refused(tmp_path: Path) -> None:
    corpus = packed(tmp_path, {f"{TOP}/docs/a.md": b"text"})
    with (tmp_path / f"{TOP}.tar.gz").open("ab") as opened:
        opened.write(b"\0")
    with pytest.raises(CorpusUnavailable):
        documents(corpus, tmp_path)


def test_a_path_that_climbs_out_is_refused(tmp_path: Path) -> None:
    corpus = packed(tmp_path, {f"{TOP}/docs/../../a.md": b"text"})
    with pytest.raises(CorpusUnavailable):
        documents(corpus, tmp_path)


def test_a_huge_document_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "MAX_DOCUMENT_BYTES", 10)
    corpus = packed(tmp_path, {f"{TOP}/docs/a.md": b"x" * 11})
    with pytest.raises(CorpusUnavailable):
        documents(corpus, tmp_path)


def test_a_commit_that_is_not_in_the_clone_is_said_to_be_missing() -> None:
    absent = Corpus("absent", "nothing", "MIT", corpora.Commit("0" * 40))
    assert not is_fetched(absent)
    with pytest.raises(CorpusUnavailable):
        documents(absent)


def test_the_cache_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = packed(tmp_path, {f"{TOP}/docs/a.md": b"text"})
    monkeypatch.setenv(corpora.CACHE_VARIABLE, str(tmp_path))
    assert is_fetched(corpus)
    assert documents(corpus) == {"docs/a.md": b"text"}


def test_documents_are_written_as_they_are(tmp_path: Path) -> None:
    write({"docs/deep/a.md": b"one\r\ntwo"}, tmp_path)
    assert (tmp_path / "docs" / "deep" / "a.md").read_bytes() == b"one\r\ntwo"


def test_the_workspace_corpus_leaves_test_data_out(
    corpus_lines: Callable[[str], dict[str, list[str]]],
) -> None:
    found = corpus_lines("workspace")
    assert "README.md" in found
    assert not [path for path in found if "/tests/" in path or path.startswith(".")]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", [name for name, corpus in CORPORA.items() if isinstance(corpus.source, SourceDistribution)]
)
def test_the_pinned_archive_can_be_fetched(name: str, tmp_path: Path) -> None:
    found = documents(CORPORA[name], tmp_path)
    assert len(found) >= 20
    assert all(content.decode("utf-8") for content in found.values())
    assert [path.name for path in tmp_path.iterdir()] == [CORPORA[name].source.archive]  # type: ignore[union-attr]
