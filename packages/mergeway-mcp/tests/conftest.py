"""The recorded vectors and their fixtures, and small repositories made on the spot, for every test of this package.

`vector_case` runs a test once a recorded case; `materialise` puts the case's repository on disk; `same_outcome` says
whether what a server or the engine did is what was recorded.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

VECTORS = Path(__file__).parent / "vectors"

#: Fixture files whose content is the target of the link they stand for: checkouts need not be able to hold links.
LINKS = {
    "symlinks": (
        "data/broken.yaml",
        "data/dirlink.yaml",
        "data/link.yaml",
        "linkdir",
        "plinks/p.yaml",
    ),
    "broken-record/unreadable-loop": ("d/loop.yaml",),
}
#: Folders that are empty, which no checkout holds.
EMPTY_FOLDERS = {"symlinks": ("data/folder.yaml",)}


class VectorCase(NamedTuple):
    """One recorded repository and what was asked of it.

    Attributes:
        name: Vector file, and case where it holds several.
        fixture: Folder below the fixtures to copy.
        root: Repository root below the copy.
        args: Command-line arguments beside `--root`.
        steps: Calls and changes in order.
        exit_code: Set when the server must refuse to start.
        validate: What `mergeway-cli validate` must find, where recorded.
    """

    name: str
    fixture: str
    root: str
    args: tuple[str, ...]
    steps: tuple[dict[str, Any], ...]
    exit_code: int | None
    validate: dict[str, Any] | None

    @property
    def allowed(self) -> frozenset[str] | None:
        """Names given with `--entity`."""
        names = [
            value.strip() for flag, value in zip(self.args, self.args[1:], strict=False) if flag == "--entity"
        ]
        return frozenset(names) if names else None

    @property
    def links(self) -> tuple[str, ...]:
        """Fixture files that stand for links."""
        return LINKS.get(self.fixture, ())


class Materialised(NamedTuple):
    """A recorded repository on disk."""

    root: Path
    fixture: Path

    def expected(self, value: Any) -> Any:
        """A recorded outcome with the placeholders replaced by where the repository is now."""
        if isinstance(value, str):
            return value.replace("${ROOT}", str(self.root)).replace("${FIXTURE}", str(self.fixture))
        if isinstance(value, list):
            return [self.expected(entry) for entry in value]
        if isinstance(value, dict):
            return {key: self.expected(entry) for key, entry in value.items()}
        return value

    def apply(self, step: Mapping[str, Any]) -> None:
        """Change a file as a `write` or `delete` step says."""
        if "write" in step:
            path = self.root / step["write"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step["text"].encode("utf-8"))
        else:
            (self.root / step["delete"]).unlink()


def _vector_cases() -> list[VectorCase]:
    cases: list[VectorCase] = []
    for path in sorted(VECTORS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or "fixture" not in document:
            continue
        fixture = document["fixture"]
        for name, body in document.get("cases", {"": document}).items():
            if "steps" not in body and "exit_code" not in body:
                continue
            cases.append(
                VectorCase(
                    f"{path.stem}/{name}" if name else path.stem,
                    f"{fixture}/{name}" if name else fixture,
                    body.get("root", ""),
                    tuple(body.get("args", ())),
                    tuple(body.get("steps", ())),
                    body.get("exit_code"),
                    body.get("validate"),
                )
            )
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector_case" in metafunc.fixturenames:
        cases = _vector_cases()
        metafunc.parametrize("vector_case", cases, ids=[case.name for case in cases])


@pytest.fixture(scope="session")
def vectors_folder() -> Path:
    return VECTORS


@pytest.fixture(scope="session")
def links_work(tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Whether this platform lets us make symbolic links."""
    folder = tmp_path_factory.mktemp("links")
    try:
        (folder / "link").symlink_to(folder / "target")
    except (OSError, NotImplementedError):
        return False
    return True


@pytest.fixture
def materialise(tmp_path: Path, links_work: bool) -> Callable[[VectorCase], Materialised]:
    """Copies a recorded repository to a fresh folder, with real links where its files stand for some."""

    def put(case: VectorCase) -> Materialised:
        if case.links and not links_work:
            pytest.skip("symbolic links cannot be made here")
        fixture = Path(os.path.realpath(tmp_path)) / "fixture"
        shutil.copytree(VECTORS / "fixtures" / case.fixture, fixture)
        root = fixture / case.root if case.root else fixture
        for folder in EMPTY_FOLDERS.get(case.fixture, ()):
            (fixture / folder).mkdir()
        for path in [path for path in fixture.rglob("*") if path.is_file()]:
            data = path.read_bytes()
            if b"@@ROOT@@" in data:
                path.write_bytes(data.replace(b"@@ROOT@@", root.as_posix().encode("utf-8")))
        for link in case.links:
            path = fixture / link
            target = path.read_text(encoding="utf-8").strip()
            path.unlink()
            path.symlink_to(target)
        return Materialised(root, fixture)

    return put


@pytest.fixture(scope="session")
def same_outcome() -> Callable[[Any, Any], bool]:
    """Whether two JSON values are equal, numbers compared as the doubles they are read as."""

    def same(recorded: Any, actual: Any) -> bool:
        if isinstance(recorded, bool) or isinstance(actual, bool) or recorded is None or actual is None:
            return recorded is actual
        if isinstance(recorded, int | float) and isinstance(actual, int | float):
            return float(recorded) == float(actual)
        if isinstance(recorded, dict) and isinstance(actual, dict):
            return recorded.keys() == actual.keys() and all(
                same(recorded[key], actual[key]) for key in recorded
            )
        if isinstance(recorded, list) and isinstance(actual, list):
            return len(recorded) == len(actual) and all(map(same, recorded, actual))
        return type(recorded) is type(actual) and bool(recorded == actual)

    return same


@pytest.fixture
def write_repository(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Writes files, by path below a fresh root, and returns the root."""
    root = Path(os.path.realpath(tmp_path)) / "repository"

    def write(files: Mapping[str, str | bytes]) -> Path:
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return root

    return write
