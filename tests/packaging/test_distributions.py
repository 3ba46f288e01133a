"""Every member as its users get it: built, alone with mcpkit's wheel in an empty environment, and started.

Members are found, not listed: a new package is covered as soon as its folder is there. A program whose name ends
in `-mcp` is taken for a server that speaks stdio and, started without arguments in an example of its package,
answers the handshake.
"""

from __future__ import annotations

import email.parser
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "mcpkit-core"
SETTINGS = {
    settings["project"]["name"]: (path.parent, settings)
    for kind in ("shared", "packages")
    for path in sorted(ROOT.glob(f"{kind}/*/pyproject.toml"))
    for settings in [tomllib.loads(path.read_text(encoding="utf-8"))]
}
# What a package may bring along only if it asks for the extra: distributions, by the extra that has them.
GIT_DISTRIBUTIONS = {"gitpython", "gitdb", "smmap"}

Build = Callable[[str], tuple[Path, Path]]
BuildAnew = Callable[[str, Path], tuple[Path, Path]]
every_member = pytest.mark.parametrize("name", SETTINGS)


def module_of(name: str) -> str:
    module: str = SETTINGS[name][1]["tool"]["uv"]["build-backend"]["module-name"]
    return module


def example_of(name: str) -> Path:
    """A folder in which the package's server can be started: its first example, else a recorded repository."""
    folder = SETTINGS[name][0]
    candidates = sorted(p for p in (folder / "examples").glob("*") if p.is_dir())
    candidates += [folder / "tests" / "vectors" / "fixtures" / "basic"]
    return next((p for p in candidates if p.is_dir()), folder)


def wants_git(name: str) -> bool:
    return any(
        "[git" in r or "gitpython" in r.lower() for r in SETTINGS[name][1]["project"].get("dependencies", [])
    )


@every_member
def test_a_build_makes_one_sdist_and_from_it_one_wheel_for_every_system(name: str, build: Build) -> None:
    sdist, wheel = build(name)
    stem = f"{name.replace('-', '_')}-{SETTINGS[name][1]['project']['version']}"
    assert (sdist.name, wheel.name) == (f"{stem}.tar.gz", f"{stem}-py3-none-any.whl")


@every_member
def test_a_wheel_holds_the_module_its_types_and_its_licence_and_no_tests(name: str, build: Build) -> None:
    _, wheel = build(name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    module, info = module_of(name), f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    assert {f"{module}/__init__.py", f"{module}/py.typed", f"{info}/licenses/LICENSE"} <= set(names)
    assert {n.split("/")[0] for n in names} == {module, info}
    assert [n for n in names if "/tests/" in n or n.endswith((".pyc", ".pyo"))] == []


@every_member
def test_a_wheel_holds_every_file_of_the_module(name: str, build: Build) -> None:
    _, wheel = build(name)
    source = SETTINGS[name][0] / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / module_of(name)).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        assert wanted <= set(archive.namelist())


@every_member
def test_an_sdist_holds_what_a_packager_needs(name: str, build: Build) -> None:
    sdist, _ = build(name)
    with tarfile.open(sdist) as archive:
        names = {member.partition("/")[2] for member in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "PKG-INFO",
        f"src/{module_of(name)}/__init__.py",
    } <= names


@every_member
def test_an_sdist_holds_nothing_else(name: str, build: Build) -> None:
    sdist, _ = build(name)
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    module = f"src/{module_of(name)}/"
    # uv keeps the pyproject.toml of the workspace beside the one that it writes without the workspace's sources.
    tops = {"pyproject.toml", "pyproject.toml.orig", "README.md", "LICENSE", "PKG-INFO"}
    assert sorted(n for n in names if n not in tops and not n.startswith(module)) == []
    strays = [n for n in names if "/tests/" in n or n.endswith((".pyc", ".rej", ".swp", "~"))]
    assert strays == []


def test_an_index_would_take_every_file(build: Build) -> None:
    files = [path for name in SETTINGS for path in build(name)]
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, files)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, len(files)), done.stdout + done.stderr


@every_member
def test_a_wheel_says_what_it_is(name: str, build: Build) -> None:
    _, wheel = build(name)
    with zipfile.ZipFile(wheel) as archive:
        [path] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = email.parser.Parser().parsestr(archive.read(path).decode("utf-8"))
    project = SETTINGS[name][1]["project"]
    assert (metadata["Name"], metadata["Summary"]) == (name, project["description"])
    assert (metadata["License-Expression"], metadata.get_all("License-File")) == ("MIT", ["LICENSE"])
    assert (metadata["Requires-Python"], metadata["Description-Content-Type"]) == (">=3.11", "text/markdown")
    assert metadata["Keywords"]
    classifiers = set(metadata.get_all("Classifier", []))
    wanted = {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} | {"Typing :: Typed"}
    assert wanted <= classifiers
    assert any(classifier.startswith("Development Status ::") for classifier in classifiers)
    links = dict(link.split(", ", 1) for link in metadata.get_all("Project-URL", []))
    assert links == project.get("urls", {})


@every_member
def test_a_second_build_gives_the_same_bytes(name: str, build_anew: BuildAnew, tmp_path: Path) -> None:
    first, second = (
        {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in build_anew(name, tmp_path / folder)
        }
        for folder in ("first", "second")
    )
    assert first == second


def program_in(folder: Path, name: str) -> Path:
    found = shutil.which(name, path=str(folder))
    assert found is not None, f"{name} was not installed"
    return Path(found)


def run(
    program: Path, *arguments: str, env: Mapping[str, str], cwd: Path, stdin: str = ""
) -> tuple[int, str, str]:
    done = subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def message(method: str, identifier: int | None = None, **params: Any) -> str:
    content: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    content |= {"id": identifier} if identifier is not None else {}
    return json.dumps(content | ({"params": params} if params else {})) + "\n"


def check_server(program: Path, version: str, env: Mapping[str, str], cwd: Path) -> None:
    """A server answers --version with its name and version, and a handshake and tools/list over stdio."""
    assert run(program, "--version", env=env, cwd=cwd)[:2] == (0, f"{program.stem} {version}\n")
    session = (
        message(
            "initialize",
            1,
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        + message("notifications/initialized")
        + message("tools/list", 2)
    )
    code, out, err = run(program, env=env, cwd=cwd, stdin=session)
    assert code == 0, err
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, out.splitlines())}
    assert answers[1]["protocolVersion"] == "2025-11-25"
    # Two of the recorded reference servers call themselves by the name without -mcp.
    assert answers[1]["serverInfo"]["name"] in {program.stem, program.stem.removesuffix("-mcp")}
    assert answers[1]["serverInfo"]["version"] == version
    assert answers[2]["tools"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@every_member
def test_a_wheel_installed_alone_with_the_library_works(
    name: str,
    build: Build,
    install_alone: Callable[..., Path],
    run_uv: Callable[..., str],
    clean_environment: Mapping[str, str],
    tmp_path: Path,
) -> None:
    version = SETTINGS[name][1]["project"]["version"]
    wheels = [build(member)[1] for member in dict.fromkeys((LIBRARY, name))]
    programs = install_alone(tmp_path / "environment", *wheels)

    listed = json.loads(run_uv("pip", "list", "--format", "json", "--python", tmp_path / "environment"))
    installed = {entry["name"].lower(): entry["version"] for entry in listed}
    assert installed[name] == version
    assert wants_git(name) or not GIT_DISTRIBUTIONS & set(installed)
    run_uv("pip", "check", "--quiet", "--python", tmp_path / "environment")

    python = program_in(programs, "python")
    code = f"import {module_of(name)} as m; print(m.__version__)"
    assert run(python, "-P", "-c", code, env=clean_environment, cwd=tmp_path) == (0, f"{version}\n", "")

    for script in SETTINGS[name][1]["project"].get("scripts", {}):
        program = program_in(programs, script)
        assert run(program, "--help", env=clean_environment, cwd=tmp_path)[0] == 0, script
        if script.endswith("-mcp"):
            check_server(program, version, clean_environment, example_of(name))
