"""Documents for measuring ragit, the same bytes every time, and questions about them.

Pseudo-words whose frequencies fall as those of a language do (Zipf), so that a question has words that nearly every
passage has, and rare ones.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks.plain_git import git

__all__ = ["commit", "edit", "make_repository", "questions"]

SEED: Final = 20261201
CHUNKS_A_FILE: Final = 50
VOCABULARY: Final = 30_000
_SYLLABLES: Final = (
    "ba",
    "cor",
    "den",
    "fi",
    "gal",
    "hum",
    "jin",
    "ko",
    "lar",
    "mip",
    "nu",
    "os",
    "par",
    "qui",
    "rel",
    "sto",
)


def make_repository(folder: Path, chunks: int, *, chunks_a_file: int = CHUNKS_A_FILE) -> list[Path]:
    """Write and commit documents that are cut into `chunks` passages; their files, in order."""
    draws = random.Random(SEED)
    words = _vocabulary(draws)
    weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    files: list[Path] = []
    made = 0
    while made < chunks:
        count = min(chunks_a_file, chunks - made)
        sections = [
            f"## {' '.join(draws.choices(words, k=3))} {made + index}\n\n"
            + " ".join(draws.choices(words, cum_weights=weights, k=draws.randint(30, 90)))
            for index in range(count)
        ]
        path = folder / "docs" / f"{made // 5000:03}" / f"{made:07}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
        files.append(path)
        made += count
    git(folder, "init", "-q")
    commit(folder)
    return files


def commit(folder: Path) -> None:
    """Commit everything but the index itself."""
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text(".ragit/\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "documents")


def edit(path: Path, number: int) -> None:
    """Change a document as people do: one section more."""
    draws = random.Random(SEED + 2 + number)
    words = " ".join(draws.choices(_vocabulary(random.Random(SEED)), k=60))
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write(f"\n## added {number}\n\n{words}\n")


def questions(count: int) -> Iterator[str]:
    """Questions of six words, half of them common."""
    draws = random.Random(SEED + 1)
    words = _vocabulary(random.Random(SEED))
    for _ in range(count):
        picked = draws.choices(words[:200], k=3) + draws.choices(words[200:8_000], k=3)
        draws.shuffle(picked)
        yield " ".join(picked)


def _vocabulary(draws: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(draws.choices(_SYLLABLES, k=draws.randint(2, 4)))] = None
    return list(words)
