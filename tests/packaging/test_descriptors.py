"""What registries, desktop clients and container engines read about each server: valid, and in step with the package."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = Path(__file__).parent / "schemas"
SERVERS = sorted(path.parent.name for path in ROOT.glob("packages/*/server.json"))
VARIABLE = re.compile(r"\$\{user_config\.(\w+)\}")

Build = Callable[[str], tuple[Path, Path]]
every_server = pytest.mark.parametrize("name", SERVERS)


@pytest.fixture(scope="module")
def bundle(script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(ROOT / ".github" / "release" / "bundle.py")


@pytest.fixture(scope="module")
def home(script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(ROOT / ".github" / "release" / "home.py")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def project(name: str, root: Path = ROOT) -> Any:
    return tomllib.loads((root / "packages" / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def faults(schema: str, document: Any) -> list[str]:
    rules = jsonschema_rs.validator_for(read(SCHEMAS / schema), validate_formats=True)
    return [f"{fault.instance_path}: {fault.message}" for fault in rules.iter_errors(document)]


def surface_tools(name: str) -> set[str]:
    [path] = (ROOT / "packages" / name / "src").glob("*/surface.json")
    return {tool["name"] for tool in read(path)["tools/list"]["2025-11-25"]["tools"]}


def test_every_package_has_all_its_descriptors() -> None:
    packages = {path.parent for path in ROOT.glob("packages/*/pyproject.toml")}
    missing = [
        f"{folder.name}/{name}"
        for folder in packages
        for name in ("server.json", "manifest.json", "Dockerfile")
        if not (folder / name).is_file()
    ]
    assert missing == []


@every_server
def test_a_registry_entry_follows_the_published_schema(name: str) -> None:
    entry = read(ROOT / "packages" / name / "server.json")
    assert faults("server-2025-12-11.json", entry) == []
    assert entry["$schema"] == read(SCHEMAS / "server-2025-12-11.json")["$id"]


@pytest.mark.parametrize(
    "broken", [{"description": "x" * 101}, {"name": "no-namespace"}, {"packages": [{"registryType": "pypi"}]}]
)
def test_a_wrong_registry_entry_is_noticed(broken: dict[str, Any]) -> None:
    entry = read(ROOT / "packages" / SERVERS[0] / "server.json")
    assert faults("server-2025-12-11.json", entry | broken)


@every_server
def test_versions_and_names_are_in_step(name: str) -> None:
    settings = project(name)
    entry = read(ROOT / "packages" / name / "server.json")
    manifest = read(ROOT / "packages" / name / "manifest.json")
    [package] = entry["packages"]
    assert {entry["version"], package["version"], manifest["version"]} == {settings["version"]}
    assert {entry["name"].partition("/")[2], package["identifier"], manifest["name"]} == {name}
    assert manifest["compatibility"]["runtimes"]["python"] == settings["requires-python"]
    assert (manifest["license"], entry["description"]) == (settings["license"], manifest["description"])


@every_server
def test_a_manifest_follows_the_published_schema(name: str) -> None:
    manifest = read(ROOT / "packages" / name / "manifest.json")
    assert faults("mcpb-manifest-0.4.json", manifest) == []
    assert faults("mcpb-manifest-0.4.json", manifest | {"surprise": 1})
    assert manifest["manifest_version"] == "0.4"


@every_server
def test_a_manifest_asks_for_what_it_uses_and_uses_what_it_asks_for(name: str) -> None:
    manifest = read(ROOT / "packages" / name / "manifest.json")
    used = VARIABLE.findall(json.dumps(manifest["server"]))
    assert sorted(used) == sorted(manifest["user_config"])


@every_server
def test_flags_and_variables_of_the_descriptors_are_the_servers_own(name: str) -> None:
    [package] = read(ROOT / "packages" / name / "server.json")["packages"]
    config = read(ROOT / "packages" / name / "manifest.json")["server"]["mcp_config"]
    flags = {each["name"] for each in package.get("packageArguments", [])}
    variables = {each["name"] for each in package.get("environmentVariables", [])}
    assert flags == {argument for argument in config["args"] if argument.startswith("--")} - {"--directory"}
    assert variables == set(config.get("env", {}))
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "packages" / name / "src").rglob("*.py")
    )
    assert [
        each for each in {f.removeprefix("--") for f in flags} | variables if f'"{each}"' not in source
    ] == []


@pytest.fixture
def make_bundle(bundle: ModuleType, build: Build, tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes a server's bundle in a folder of its own."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()

    def make(name: str, folder: str) -> Path:
        for member in (name, "mcpkit-core"):
            shutil.copy(build(member)[1], wheels)
        arguments = [name, "--root", str(ROOT), "--wheels", str(wheels), "--out", str(tmp_path / folder)]
        assert bundle.main(arguments) == 0
        [made] = (tmp_path / folder).iterdir()
        return Path(made)

    return make


@every_server
def test_a_bundle_is_the_same_twice_and_complete(
    name: str, make_bundle: Callable[[str, str], Path], tmp_path: Path
) -> None:
    first, second = make_bundle(name, "first"), make_bundle(name, "second")
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()
    assert first.name == f"{name}-{project(name)['version']}.mcpb"
    with zipfile.ZipFile(first) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("manifest.json"))
        settings = tomllib.loads(archive.read("pyproject.toml").decode())
    packed = {f"wheels/{wheel.name}" for wheel in (tmp_path / "wheels").iterdir()}
    assert names == {"manifest.json", "pyproject.toml", "server.py", "LICENSE"} | packed
    assert {source["path"] for source in settings["tool"]["uv"]["sources"].values()} == packed
    assert manifest["server"]["entry_point"] in names
    assert {tool["name"] for tool in manifest["tools"]} == surface_tools(name)
    assert faults("mcpb-manifest-0.4.json", manifest) == []


@pytest.mark.soak
@pytest.mark.timeout(300)
@every_server
def test_a_bundle_starts_as_its_manifest_says(
    name: str, make_bundle: Callable[[str, str], Path], run_uv: Callable[..., str], tmp_path: Path
) -> None:
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(make_bundle(name, "made")) as archive:
        archive.extractall(unpacked)
    server = read(unpacked / "manifest.json")["server"]["mcp_config"]
    given = [argument.replace("${__dirname}", str(unpacked)) for argument in server["args"]]
    assert server["command"] == "uv"
    start = given.index("server.py") + 1
    assert run_uv("--quiet", *given[:start], "--version") == f"{name} {project(name)['version']}\n"


def test_no_bundle_is_made_without_its_wheels(bundle: ModuleType, tmp_path: Path) -> None:
    for package in (SERVERS[0], "mcpkit-core", "nobody"):
        assert (
            bundle.main([package, "--root", str(ROOT), "--wheels", str(tmp_path), "--out", str(tmp_path)])
            == 1
        )
    assert list(tmp_path.iterdir()) == []


@every_server
def test_an_image_runs_the_server_as_nobody_in_particular(name: str) -> None:
    lines = (ROOT / "packages" / name / "Dockerfile").read_text(encoding="utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    [entry] = [
        json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRYPOINT ")
    ]
    assert [user.partition(":")[0] for user in users] == ["10001"]
    assert set(bases) == {"python:3.13-slim"}
    assert entry[0] == name
    assert f"--package {name}" in "\n".join(lines)


def test_an_image_builds_with_the_uv_that_the_project_pins(script: Callable[[Path], ModuleType]) -> None:
    pinned = script(ROOT / "dev.py").UV
    assert [
        n for n in SERVERS if pinned not in (ROOT / "packages" / n / "Dockerfile").read_text("utf-8")
    ] == []


@pytest.fixture
def stamped(home: ModuleType, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of what home.py changes, told where the project lives."""
    for path in [ROOT / "pyproject.toml", *ROOT.glob("shared/*/*.*"), *ROOT.glob("packages/*/*.*")]:
        if path.is_file():
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)

    def stamp(address: str) -> Path:
        assert home.main([address, "--root", str(tmp_path)]) == 0
        return tmp_path

    return stamp


def texts(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in root.rglob("*") if p.is_file()}


def test_a_home_is_named_everywhere_once_it_is_known(stamped: Callable[[str], Path]) -> None:
    root = stamped("some-one/mcp.servers")
    for name in SERVERS:
        entry = read(root / "packages" / name / "server.json")
        assert faults("server-2025-12-11.json", entry) == []
        assert entry["name"] == f"io.github.some-one/{name}"
        assert entry["repository"]["subfolder"] == f"packages/{name}"
        assert f"mcp-name: {entry['name']} " in (root / "packages" / name / "README.md").read_text("utf-8")
        before, after = project(name), project(name, root)
        assert after["urls"]["Repository"] == "https://github.com/some-one/mcp.servers"
        assert before.get("urls", {}).get("Homepage") == after["urls"].get("Homepage")
        assert {k: v for k, v in after.items() if k != "urls"} == {
            k: v for k, v in before.items() if k != "urls"
        }


def test_a_second_home_replaces_the_first(stamped: Callable[[str], Path]) -> None:
    once = texts(stamped("new/place"))
    stamped("old-owner/elsewhere")
    assert texts(stamped("new/place")) == once


@pytest.mark.parametrize("address", ["owner", "https://github.com/a/b", "a/b/c", "-a/b", ""])
def test_what_is_no_address_changes_nothing(
    stamped: Callable[[str], Path], home: ModuleType, address: str
) -> None:
    with pytest.raises(SystemExit) as refused:
        home.main([address])
    assert refused.value.code == 2
