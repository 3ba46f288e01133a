"""Repositories that are indexed for real, with the default model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.config import load_config
from ragit_mcp.ingest import IngestRequest, ingest
from ragit_mcp.retrieval import Searcher

ROOT = Path(__file__).parents[4]
if str(ROOT) not in sys.path:  # the reference's formula lies with the benchmarks
    sys.path.append(str(ROOT))

SCORING = json.loads((Path(__file__).parents[1] / "vectors" / "scoring.json").read_text(encoding="utf-8"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`<group>_case` stands for every recorded case of a group of the scoring vectors."""
    for name in metafunc.fixturenames:
        group = name.removesuffix("_case")
        cases = [case for case in SCORING["cases"] if case["group"] == group]
        if group != name and cases:
            metafunc.parametrize(name, cases, ids=[case["id"] for case in cases])


class IndexedRepository:
    """A repository whose commits are indexed as they are made."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.root = root
        self.environ = environ
        root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.write_config({})

    def git(self, *arguments: str, date: str | None = None) -> str:
        """Run git as nobody in particular."""
        identity = (
            "-c",
            "user.name=tester",
            "-c",
            "user.email=tester@example.invalid",
            "-c",
            "core.autocrlf=false",
        )
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        done = subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.root,
            env={**self.environ, **dates},
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return done.stdout.strip()

    def write_config(self, settings: Mapping[str, Any]) -> None:
        """Replace the configuration; keys are `section.name`."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        target = self.root / ".ragit" / "config.toml"
        target.parent.mkdir(exist_ok=True)
        (target.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def commit(
        self, documents: Mapping[str, str | None], *, index: bool = True, date: str | None = None
    ) -> str:
        """Write documents (None deletes one), commit, index; the commit's id."""
        for path, text in documents.items():
            target = self.root / path
            if text is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "documents", date=date)
        if index:
            self.index()
        return self.git("rev-parse", "HEAD")

    def index(self) -> None:
        """Index HEAD."""
        ingest(
            self.root,
            IngestRequest(),
            config=load_config(self.root, environ=self.environ),
            environ=self.environ,
        )

    def write_artifact(self, record: Mapping[str, Any]) -> None:
        """Put an artifact's file where readers look for it."""
        middle = f"harness/{record['kind']}" if record["artifactScope"] == "harness" else "session"
        target = self.root / ".ragit" / "artifacts" / middle / f"{record['artifactId']}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which no configuration of the user's or of git's counts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGIT_", "GIT_"))}
    nowhere = os.devnull
    return {
        **kept,
        "RAGIT_USER_CONFIG": str(tmp_path / "user.toml"),
        "GIT_CONFIG_GLOBAL": nowhere,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


@pytest.fixture
def make_repository(tmp_path: Path, environ: dict[str, str]) -> Callable[[str], IndexedRepository]:
    """Makes an empty repository by name."""
    return lambda name: IndexedRepository(tmp_path / name, environ)


DOCUMENTS = {
    "README.md": "# Harbour\n\nA program that plans where ships berth.\n",
    "docs/retries.md": (
        "# Retries\n\n## When a request fails\n\nThe client waits and asks again, twice as long each time, until five "
        "attempts are spent. Set `max_attempts` to change that.\n\n## What is never repeated\n\nPayments are sent once.\n"
    ),
    "docs/storage.md": (
        "# Storage\n\n## Where records are kept\n\nRecords live in one SQLite file below `var/`.\n\n"
        "## Backups\n\nCopy the file while the service is stopped. Keep seven copies.\n"
    ),
    "docs/secrets.md": "# Secrets\n\nTokens are read from the environment and never written to a log.\n",
    "docs/한국어.md": "# 설계 결정\n\n이 문서는 결정을 기록한다.\n\n# 日本語\n\n東京都の港湾計画。\n",
}


@pytest.fixture
def repository(make_repository: Callable[[str], IndexedRepository]) -> IndexedRepository:
    """A small repository with one indexed commit."""
    made = make_repository("harbour")
    made.commit(DOCUMENTS, date="2026-03-01T12:00:00+00:00")
    return made


@pytest.fixture
def searcher(repository: IndexedRepository) -> Iterator[Searcher]:
    """A searcher on it."""
    with Searcher(repository.root, environ=repository.environ) as opened:
        yield opened


@pytest.fixture
def artifact() -> Callable[..., dict[str, Any]]:
    """Makes an artifact's record, reviewed unless told otherwise."""

    def make(
        number: int = 1, scope: str = "session", kind: str = "insight", **members: Any
    ) -> dict[str, Any]:
        return {
            "artifactId": f"art_{scope}_{kind}_{number:016x}",
            "artifactScope": scope,
            "kind": kind,
            "tier": "candidate",
            "status": "reviewed",
            "title": "Lighthouse maintenance",
            "summary": "Lamps are changed in spring.",
            "text": "The lighthouse lamp is changed every spring by the keeper.",
            "goalId": "goal_0123456789ab",
            "episodeId": None,
            "sourceSessionId": None,
            "sourceHeadSha": None,
            "captureHeadSha": "c" * 40,
            "boundHeadSha": None,
            "bindingStatus": "pending",
            "authority": "assistant_inferred",
            "confidence": 0.5,
            "searchPolicy": scope,
            "relatedPaths": [],
            "tags": [],
            "supersedes": [],
            "evidenceRefs": [
                {
                    "evidenceId": "evid_0123456789ab",
                    "turnIds": [],
                    "toolTraceIds": [],
                    "excerpt": "keeper: the lamp broke",
                }
            ],
            "provenance": {
                "actor": "assistant",
                "producer": "ragit",
                "producerVersion": "1",
                "operation": "session materialize",
                "inputRefs": [],
                "outputRefs": [],
                "evidenceRefs": [],
                "contentHash": "d" * 64,
            },
            "createdAt": "2026-03-01T12:00:00+00:00",
            "updatedAt": "2026-03-01T12:00:00+00:00",
            **members,
        }

    return make
