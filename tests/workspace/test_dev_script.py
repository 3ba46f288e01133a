"""dev.py: the newcomer's two commands, with and without uv, in a small project of its own."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = """\
[project]
name = "newcomer"
version = "0.0.0"
requires-python = ">=3.11"

[tool.uv]
package = false
"""
TOUR = 'import sys\nprint("toured", *sys.argv[1:])\nsys.exit("--fail" in sys.argv)\n'
# What uv and pip of the outer run leave in the environment and an inner run must not see.
INHERITED = (
    "VIRTUAL_ENV",
    "UV",
    "UV_PYTHON",
    "UV_PROJECT_ENVIRONMENT",
    "UV_RUN_RECURSION_DEPTH",
    "UV_NO_SYNC",
)


@pytest.fixture(scope="module")
def dev(root: Path, script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(root / "dev.py")


@pytest.fixture
def project(tmp_path: Path, root: Path, uv: Path) -> Path:
    """A locked project without dependencies that has dev.py and a tour."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    shutil.copy(root / "dev.py", folder)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "docs" / "tour.py").write_text(TOUR, encoding="utf-8")
    subprocess.run(
        [uv, "lock", "--python", sys.executable],
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=True,
    )
    return folder


def environment(path: Path | None = None, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in INHERITED and not k.startswith("COVERAGE")}
    return kept | ({"PATH": str(path)} if path else {}) | more


def run_dev(
    folder: Path, env: dict[str, str], *arguments: str, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "dev.py", *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=280,
        check=False,
    )


def only(tmp_path: Path, *programs: Path) -> Path:
    """A folder to use as the whole PATH, holding just these programs."""
    folder = tmp_path / "path"
    folder.mkdir()
    for program in programs:
        shutil.copy(program, folder)
    return folder


def test_it_stays_under_a_hundred_lines(root: Path) -> None:
    assert len((root / "dev.py").read_text(encoding="utf-8").splitlines()) < 100


def test_it_imports_nothing_but_the_standard_library(root: Path) -> None:
    tree = ast.parse((root / "dev.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


def test_an_older_python_gets_as_far_as_being_told_so(root: Path, tmp_path: Path) -> None:
    ast.parse((root / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    pretend = (
        "import runpy, sys; sys.version_info = (3, 10, 4, 'final', 0);"
        f"sys.argv = ['dev.py', 'tour']; runpy.run_path({str(root / 'dev.py')!r}, run_name='__main__')"
    )
    told = subprocess.run(
        [sys.executable, "-c", pretend], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert told.returncode == 1
    assert told.stdout == ""
    assert "3.11" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_smallest_accepted_uv_is_the_one_that_the_project_requires(dev: ModuleType, root: Path) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    assert settings["required-version"] == ">=" + ".".join(map(str, dev.UV_MINIMUM))
    assert dev.UV_PINNED >= dev.UV_MINIMUM


def test_test_without_arguments_runs_everything_under_the_coverage_gate(dev: ModuleType) -> None:
    assert dev.chores([])["test"] == [["run", "--locked", "pytest", *dev.COVERAGE]]
    gate = next(option for option in dev.COVERAGE if option.startswith("--cov-fail-under="))
    assert int(gate.partition("=")[2]) >= 90


def test_test_with_arguments_hands_them_to_pytest_without_the_gate(dev: ModuleType) -> None:
    assert dev.chores(["tests", "-k", "x"])["test"] == [["run", "--locked", "pytest", "tests", "-k", "x"]]


def test_check_types_every_member(dev: ModuleType, members: list[Path]) -> None:
    typed = {
        command[command.index("--directory") + 1]
        for command in dev.chores([])["check"]
        if "mypy" in command and "--directory" in command
    }
    assert {str(member) for member in members} <= typed


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("--help",)])
def test_anything_else_prints_the_chores_and_fails(
    root: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    shutil.copy(root / "dev.py", tmp_path)
    answer = run_dev(tmp_path, environment(), *arguments)
    assert answer.returncode == 1
    assert all(chore in answer.stderr for chore in ("tour", "test", "check", "build"))


def test_uv_from_the_path_is_used_and_nothing_is_installed(project: Path, uv: Path, tmp_path: Path) -> None:
    answer = run_dev(project, environment(only(tmp_path, uv)), "tour", "one", "two words")
    assert (answer.returncode, answer.stdout.strip()) == (0, "toured one two words")
    assert not (project / ".uv").exists()


def test_a_chore_that_fails_makes_it_fail(project: Path, uv: Path, tmp_path: Path) -> None:
    assert run_dev(project, environment(only(tmp_path, uv)), "tour", "--fail").returncode == 1


@pytest.mark.skipif(os.name == "nt", reason="a stand-in for an old uv is a shell script")
def test_a_uv_that_is_too_old_is_passed_over_for_the_one_in_the_project(
    project: Path, uv: Path, tmp_path: Path, dev: ModuleType
) -> None:
    if dev.version_of(uv) != dev.UV_PINNED:
        pytest.skip("needs the pinned uv to put into .uv/ without a download")
    path = only(tmp_path)
    old = path / "uv"
    old.write_text("#!/bin/sh\necho 'uv 0.4.30'\n", encoding="utf-8")
    old.chmod(0o755)
    (project / ".uv" / "bin").mkdir(parents=True)
    shutil.copy(uv, project / ".uv" / "bin")
    answer = run_dev(project, environment(path), "tour")
    assert (answer.returncode, answer.stdout.strip()) == (0, "toured")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["with pip", "without pip"])
def test_without_uv_it_is_installed_into_the_project_once(
    project: Path, tmp_path: Path, dev: ModuleType, kind: str
) -> None:
    python = getattr(sys, "_base_executable", sys.executable) if kind == "with pip" else sys.executable
    if kind == "without pip" and importlib.util.find_spec("pip") is not None:
        pytest.skip("the environment of these tests has pip")
    env = environment(only(tmp_path))
    first = run_dev(project, env, "tour", python=python)
    assert (first.returncode, first.stdout.strip()) == (0, "toured"), first.stderr
    [installed] = [p for p in (project / ".uv").glob("*/uv*") if dev.version_of(p) == dev.UV_PINNED]
    before = installed.stat()
    # No index can be reached now: the second run has to make do with what is there.
    second = run_dev(project, env | {"PIP_NO_INDEX": "1"}, "tour", python=python)
    assert (second.returncode, second.stdout.strip()) == (0, "toured"), second.stderr
    assert installed.stat() == before


@pytest.mark.slow
def test_where_uv_can_not_be_had_it_says_how_to_get_it(
    project: Path, tmp_path: Path, dev: ModuleType
) -> None:
    env = environment(only(tmp_path), PIP_NO_INDEX="1")
    env.pop("PIP_FIND_LINKS", None)
    answer = run_dev(project, env, "tour")
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert dev.HELP in answer.stderr.replace("\r\n", "\n")
