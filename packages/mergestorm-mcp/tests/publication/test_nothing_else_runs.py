"""A publication starts git for reading and nothing else: no gh, no push, no fetch, and no program of the repository."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import (
    PublishRequest,
    StatusRequest,
    prepare_publication,
    publication_status,
)
from mergestorm_mcp.reviews.submit import ReviewRequest, prepare_submission

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")

READS = {
    "version", "rev-parse", "symbolic-ref", "config", "merge-base", "rev-list", "cat-file", "diff-tree",
    "check-attr", "ls-files", "ls-tree",
}  # fmt: skip
HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction",
    "post-checkout", "pre-push", "fsmonitor-watchman",
)  # fmt: skip


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of every program started: git is wrapped, and gh and ssh are traps in front of it."""
    log, real = tmp_path / "programs.log", shutil.which("git")
    assert real is not None
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "gh", "ssh", "curl"):
        place = programs / name
        then = f'exec {shlex.quote(real)} "$@"' if name == "git" else "exit 1"
        place.write_text(
            f'#!/bin/sh\necho "{name} $*" >> {shlex.quote(str(log))}\n{then}\n', encoding="utf-8"
        )
        place.chmod(0o755)
    monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", str(programs / "git"))
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    return log


@pytest.fixture
def hostile(checkout: Any, tmp_path: Path) -> Path:
    """Traps at every place of the checkout that can name a program; a directory of markers that tells which ran."""
    markers = tmp_path / "markers"
    markers.mkdir()

    def trap(name: str) -> str:
        place = tmp_path / f"trap-{name}"
        place.write_text(f"#!/bin/sh\n: > {shlex.quote(str(markers / name))}\ncat\n", encoding="utf-8")
        place.chmod(0o755)
        return str(place)

    checkout.commit({".gitattributes": b"* filter=evil diff=evil merge=evil\n", "a": b"1\n"})
    checkout.commit({"a": b"2\n"})
    for name in HOOKS:
        shutil.copy(trap(f"hook-{name}"), checkout.path / ".git" / "hooks" / name)
    settings = {
        "core.fsmonitor": trap("fsmonitor"),
        "core.sshCommand": trap("ssh"),
        "core.pager": trap("pager"),
        "core.editor": trap("editor"),
        "diff.external": trap("diff"),
        "diff.evil.textconv": trap("textconv"),
        "diff.evil.command": trap("command"),
        "filter.evil.clean": trap("clean"),
        "filter.evil.smudge": trap("smudge"),
        "filter.evil.process": trap("process"),
        "gpg.program": trap("gpg"),
        "credential.helper": trap("credential"),
        "remote.origin.uploadpack": trap("uploadpack"),
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "log.showSignature": "true",
    }
    for name, value in settings.items():
        checkout.git("config", name, value)
    (checkout.path / "a").write_bytes(b"3\n")
    return markers


def _subcommands(log: Path) -> set[str]:
    found = set()
    for line in log.read_text(encoding="utf-8").splitlines():
        program, *words = line.split()
        assert program == "git", line
        while words[0].startswith("-"):
            words = words[2:] if words[0] == "-c" else words[1:]
        found.add(words[0])
    return found


def _ran(markers: Path) -> set[str]:
    return {entry.name for entry in markers.iterdir()}


@pytest.mark.anyio
async def test_publishing_and_asking_only_read(
    hostile: Path, traced: Path, environment: Environment, simulated: Any, published: Any
) -> None:
    made = prepare_publication(environment, PublishRequest())
    assert made.dirty is True
    answer = published(made)
    api, _, _ = simulated(lambda _: (0, (200, {**answer, "head": {"sha": "a" * 40, "tree": "b" * 40}}, {})))
    await publication_status(api, environment, StatusRequest())
    assert _subcommands(traced) <= READS
    assert _ran(hostile) == set()


def test_collecting_a_review_only_reads(hostile: Path, traced: Path, environment: Environment) -> None:
    made = prepare_submission(environment, ReviewRequest())
    assert made.body is not None
    assert {"path": "a", "content": "2\n"} in made.body["files"]
    assert _subcommands(traced) <= READS
    assert _ran(hostile) == set()


def test_the_traps_work(hostile: Path, checkout: Any) -> None:
    checkout.git("diff")
    assert _ran(hostile) & {"diff", "command", "clean", "process", "fsmonitor"}
