"""What the packaging tests share: uv, builds, and empty environments with nothing but our wheels in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 280


@pytest.fixture(scope="session")
def uv() -> Path:
    """The uv that runs these tests, or the one that dev.py left in .uv/."""
    candidates = [os.environ.get("UV"), shutil.which("uv"), *map(str, (ROOT / ".uv").glob("*/uv"))]
    found = next((Path(c) for c in candidates if c and Path(c).is_file()), None)
    if found is None:
        pytest.skip("needs uv, and it is neither on PATH nor in .uv/")
    return found


@pytest.fixture(scope="session")
def clean_environment() -> Mapping[str, str]:
    """The environment without what points back to the project's own: its Python, its settings, its coverage."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COVERAGE", "COV_", "PYTEST", "FASTMCP", "VIRTUAL_ENV"))
        and name not in {"UV_PYTHON", "UV_PROJECT_ENVIRONMENT", "UV_NO_SYNC", "UV_RESOLUTION"}
    }


@pytest.fixture(scope="session")
def run_uv(uv: Path, clean_environment: Mapping[str, str]) -> Callable[..., str]:
    """Runs uv in the project's root and gives what it printed; a failure shows what uv said."""

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [uv, *arguments],
            cwd=ROOT,
            env=clean_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def build_anew(run_uv: Callable[..., str]) -> Callable[[str, Path], tuple[Path, Path]]:
    """Builds one member's sdist, and its wheel from that sdist, into an empty folder."""

    def build_member(name: str, into: Path) -> tuple[Path, Path]:
        run_uv("build", "--quiet", "--no-sources", "--package", name, "--out-dir", into)
        [sdist], [wheel] = into.glob("*.tar.gz"), into.glob("*.whl")
        return sdist, wheel

    return build_member


@pytest.fixture(scope="session")
def build(
    build_anew: Callable[[str, Path], tuple[Path, Path]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Path]]:
    """One member's sdist and wheel, built once for all tests, which only read them."""
    built: dict[str, tuple[Path, Path]] = {}

    def build_member(name: str) -> tuple[Path, Path]:
        if name not in built:
            built[name] = build_anew(name, tmp_path_factory.mktemp("built"))
        return built[name]

    return build_member


@pytest.fixture(scope="session")
def locked_versions(run_uv: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lock file's versions as constraints, so that what is installed is the same today and tomorrow."""
    constraints = tmp_path_factory.mktemp("locked") / "constraints.txt"
    run_uv(
        "export", "--frozen", "--quiet", "--no-dev", "--all-packages", "--all-extras", "--no-hashes",
        "--no-emit-workspace", "--output-file", constraints,
    )  # fmt: skip
    return constraints


@pytest.fixture(scope="session")
def install_alone(run_uv: Callable[..., str], locked_versions: Path) -> Callable[..., Path]:
    """Makes an empty environment, installs wheels into it, and gives the folder of its programs."""

    def install(folder: Path, *wheels: Path) -> Path:
        base = getattr(sys, "_base_executable", sys.executable)
        run_uv("venv", "--quiet", "--no-project", "--python", base, folder)
        run_uv("pip", "install", "--quiet", "--python", folder, "--constraints", locked_versions, *wheels)
        return folder / ("Scripts" if os.name == "nt" else "bin")

    return install
