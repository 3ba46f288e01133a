"""The three sets of Markdown documents that the questions are asked of, pinned to the byte.

The workspace's own documents are read at a fixed commit. The other two are the documentation of permissively licensed
projects as their source distributions on the package index carry it: pip fetches the archive once, checks its SHA-256
before anything else and keeps it in a cache folder. Nothing of theirs is kept in this repository but paths and lines.

    uv run python -m tests.benchmarks.retrieval.corpora FOLDER    write all three as files, FOLDER/<name>/...
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[3]
#: Where archives are kept unless the environment variable names another folder.
CACHE_VARIABLE: Final = "RETRIEVAL_CORPORA_CACHE"
DEFAULT_CACHE: Final = ROOT / "build" / "retrieval-corpora"
FETCH_SECONDS: Final = 300
GIT_SECONDS: Final = 60
MAX_DOCUMENT_BYTES: Final = 2 * 1024 * 1024
MAX_DOCUMENTS: Final = 1_000
MAX_ARCHIVE_BYTES: Final = 64 * 1024 * 1024


class CorpusUnavailable(Exception):
    """The documents cannot be had here; the message says what is missing and what to do."""


class Commit(NamedTuple):
    """Documents in this repository's history.

    Attributes:
        revision: Full id of the commit.
        excluded: Leading parts of paths whose documents are test data or forms, not documentation.
    """

    revision: str
    excluded: tuple[str, ...] = ()


class SourceDistribution(NamedTuple):
    """Documents inside a source archive of the package index.

    Attributes:
        project: Name on the index.
        version: The pinned version.
        sha256: Of the archive, in hexadecimal.
        folder: Folder of the documents inside the archive, without the archive's own top folder.
    """

    project: str
    version: str
    sha256: str
    folder: str

    @property
    def archive(self) -> str:
        """The archive's file name."""
        return f"{self.project}-{self.version}.tar.gz"


class Corpus(NamedTuple):
    """A pinned set of documents.

    Attributes:
        name: Short name, as in the questions.
        title: What it is, for people.
        licence: SPDX expression of the documents' licence.
        source: Where the documents come from.
    """

    name: str
    title: str
    licence: str
    source: Commit | SourceDistribution


CORPORA: Final[Mapping[str, Corpus]] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "workspace",
            "the documents of this workspace",
            "MIT",
            Commit(
                "de2555a96815a3f1f48b2a8e10a13ffc89444a2c",
                excluded=(".github/", "packages/mergeway-mcp/tests/"),
            ),
        ),
        Corpus(
            "hatch",
            "the documentation of Hatch 1.18.2",
            "MIT",
            SourceDistribution(
                "hatch", "1.18.2", "7f365f1a5b8f1a8162813daed9bf9fce83f15dc933fc99c6d04cbb942e64f4d0", "docs"
            ),
        ),
        Corpus(
            "jupyterhub",
            "the documentation of JupyterHub 6.1.1",
            "BSD-3-Clause",
            SourceDistribution(
                "jupyterhub",
                "6.1.1",
                "1d7b6713b31ebd76d61a13c202f9323e66c4e8cf731adc5d3052bb6ee6178a95",
                "docs",
            ),
        ),
    )
}


def cache_folder() -> Path:
    """Where fetched archives are kept."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE)


def is_fetched(corpus: Corpus, cache: Path | None = None) -> bool:
    """Whether the documents can be read without the network."""
    if isinstance(corpus.source, Commit):
        return _git("cat-file", "-e", f"{corpus.source.revision}^{{commit}}").returncode == 0
    return ((cache or cache_folder()) / corpus.source.archive).is_file()


def documents(corpus: Corpus, cache: Path | None = None) -> dict[str, bytes]:
    """Every Markdown document of a corpus by its path, in byte order of the paths.

    Args:
        corpus: One of `CORPORA`.
        cache: Folder for archives, instead of `cache_folder()`.

    Raises:
        CorpusUnavailable: if the commit is not in this clone, the archive cannot be fetched, or what was fetched is not
            what is pinned.
    """
    if isinstance(corpus.source, Commit):
        found = dict(_committed(corpus.source))
    else:
        found = dict(_archived(corpus.source, cache or cache_folder()))
    return {path: found[path] for path in sorted(found, key=os.fsencode)}


def write(found: Mapping[str, bytes], folder: Path) -> None:
    """Writes documents below a folder, byte for byte."""
    for path, content in found.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _committed(source: Commit) -> Iterator[tuple[str, bytes]]:
    listed = _git("ls-tree", "-r", "-z", "--name-only", source.revision)
    if listed.returncode:
        raise CorpusUnavailable(
            f"commit {source.revision} is not in this clone; fetch the whole history (git fetch --unshallow)"
        )
    for path in listed.stdout.decode("utf-8").split("\0"):
        if path.endswith(".md") and not path.startswith(source.excluded):
            shown = _git("cat-file", "blob", f"{source.revision}:{path}")
            if shown.returncode:
                raise CorpusUnavailable(f"{path} of commit {source.revision} is not in this clone")
            yield path, shown.stdout


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    git = shutil.which("git")
    if git is None:
        raise CorpusUnavailable("git is not on PATH")
    return subprocess.run(
        [git, *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=GIT_SECONDS,
    )


def _archived(source: SourceDistribution, cache: Path) -> Iterator[tuple[str, bytes]]:
    archive = cache / source.archive
    if not archive.is_file():
        _fetch(source, cache)
    if archive.stat().st_size > MAX_ARCHIVE_BYTES or _sha256(archive) != source.sha256:
        raise CorpusUnavailable(f"{archive} is not the pinned archive; delete it and run again")
    top = f"{source.project}-{source.version}/"
    count = 0
    with tarfile.open(archive, "r:gz") as opened:
        for member in opened:
            path = member.name.removeprefix(top)
            if not (member.isreg() and path.startswith(f"{source.folder}/") and path.endswith(".md")):
                continue
            count += 1
            if count > MAX_DOCUMENTS or member.size > MAX_DOCUMENT_BYTES or ".." in PurePosixPath(path).parts:
                raise CorpusUnavailable(f"{archive} holds more than a documentation should")
            content = opened.extractfile(member)
            assert content is not None  # a regular file has content
            yield path, content.read()


def _fetch(source: SourceDistribution, cache: Path) -> None:
    """Has pip download the archive, checked against its hash, and puts it into the cache in one step."""
    pip = _pip()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as scratch:
        pinned = Path(scratch, "requirements.txt")
        pinned.write_text(
            f"{source.project}=={source.version} --hash=sha256:{source.sha256}\n", encoding="utf-8"
        )
        quiet = ["--quiet", "--disable-pip-version-check"]
        # Only this project comes as source; what its build backend needs may come as wheels.
        what = ["--no-deps", "--require-hashes", "--no-binary", source.project]
        fetched = subprocess.run(
            [*pip, "download", *quiet, *what, "--dest", scratch, "--requirement", str(pinned)],
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=FETCH_SECONDS,
        )
        downloaded = Path(scratch, source.archive)
        if fetched.returncode or not downloaded.is_file():
            raise CorpusUnavailable(
                f"pip could not fetch {source.project} {source.version}; "
                f"put {source.archive} into {cache} or try again\n{fetched.stderr[-2_000:]}"
            )
        os.replace(downloaded, cache / source.archive)


def _pip() -> Sequence[str]:
    """A pip that runs: an environment made by uv has none of its own."""
    candidates = [[sys.executable, "-m", "pip"]]
    candidates += [[uv, "tool", "run", "pip"] for uv in [os.environ.get("UV") or shutil.which("uv")] if uv]
    candidates += [[python, "-m", "pip"] for python in [shutil.which("python3")] if python]
    for command in candidates:
        answered = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=FETCH_SECONDS,
        )
        if answered.returncode == 0:
            return command
    raise CorpusUnavailable("neither pip nor uv is at hand to fetch the documents with")


def _sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main() -> int:
    """Writes every corpus below a folder and says how much that was."""
    parser = argparse.ArgumentParser(
        description="Write the pinned documents of the retrieval benchmark as files."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--corpus", choices=list(CORPORA), action="append", help="only this one; repeat for several"
    )
    options = parser.parse_args()
    for name in options.corpus or CORPORA:
        try:
            found = documents(CORPORA[name])
        except CorpusUnavailable as unavailable:
            print(f"{name}: {unavailable}", file=sys.stderr)
            return 1
        write(found, options.folder / name)
        print(f"{name}: {len(found)} documents, {sum(map(len, found.values())):,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
