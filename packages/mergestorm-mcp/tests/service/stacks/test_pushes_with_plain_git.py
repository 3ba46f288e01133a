"""A clone pushes to its repository by path, as a person does; the service finds out by itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mergestorm_mcp.service.agents.pushes import notice

from .conftest import BASE, Bench

IDENTITY = ("-c", "user.name=Rivka", "-c", "user.email=rivka@example.org", "-c", "commit.gpgsign=false")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *words], cwd=folder, capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout.strip()


def _clone(bench: Bench, tmp_path: Path, branch: str) -> Path:
    clone = tmp_path / "clone"
    source = str(bench.world.hub.git(bench.repository).path)
    _git(tmp_path, "clone", "--quiet", "--branch", branch, source, str(clone))
    return clone


def test_a_conflict_that_is_resolved_in_a_clone_and_pushed_lands(bench: Bench, tmp_path: Path) -> None:
    bench.push("feature", {"app.txt": BASE.replace("three", "3")})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True)
    bench.push("main", {"app.txt": BASE.replace("three", "III")})
    bench.until(lambda: bench.blocker(stack))
    assert bench.blocker(stack) == "Merge conflicts vs main"

    clone = _clone(bench, tmp_path, "feature")
    _git(clone, "merge", "--quiet", "--no-commit", "-s", "ours", "origin/main")
    (clone / "app.txt").write_text(BASE.replace("three", "3 and III"), encoding="utf-8")
    _git(clone, "commit", "--quiet", "--all", "--message", "Merge main")
    _git(clone, "push", "--quiet", "origin", "feature")
    notice(bench.world)

    layer = bench.layer(stack)
    assert layer["headSha"] == _git(clone, "rev-parse", "HEAD")
    assert (layer["vortexReview"]["pass"], layer["ciStatus"]) == (2, "pending")
    bench.until(lambda: bench.ended(stack))
    assert bench.text("main", "app.txt") == BASE.replace("three", "3 and III")


def test_what_was_seen_is_not_news_a_second_time(bench: Bench, tmp_path: Path) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack = bench.adopt(bench.open_pull("feature"))
    notice(bench.world)
    before = bench.listed(stack)
    assert notice(bench.world) == 0
    assert bench.listed(stack) == before
    clone = _clone(bench, tmp_path, "feature")
    _git(clone, "push", "--quiet", "origin", "--delete", "feature")
    notice(bench.world)
    assert bench.ended(stack) == "closed"
