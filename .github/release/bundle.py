"""Makes the bundle (`.mcpb`) of a server: one file that a desktop client installs. Standard library only.

    python3 dev.py build
    python3 .github/release/bundle.py mergeway-mcp --wheels dist --out dist

A bundle is a zip file that holds the package's `manifest.json`, the wheels of the server and of the workspace's
packages it needs, and a small project around them that the client's uv runs. Everything else comes from the index
when the client installs it. The same wheels give the same bytes: members are sorted and carry one fixed time.

Exit codes: 0 made, 1 it cannot be made (why is on stderr), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # also where this script is loaded as a module
from reconcile import Member, ReleaseError, members, requirements

LONGEST_DESCRIPTION = 200  # characters of a tool's description; a client shows them in a list
UNIX = 3  # zipfile.ZipInfo.create_system: the same on every machine
PROJECT = """\
[project]
name = "{name}-bundle"
version = "{version}"
requires-python = "{python}"
dependencies = [{dependencies}]

[tool.uv]
package = false

[tool.uv.sources]
{sources}
"""
ENTRY = '''\
"""Starts {name} inside its bundle."""

from {module} import {function}

if __name__ == "__main__":
    raise SystemExit({function}())
'''


def wheel_of(member: Member, wheels: Path) -> Path:
    """The wheel that a build left of a member.

    Raises:
        ReleaseError: it is not there.
    """
    path = wheels / member.wheel
    if not path.is_file():
        raise ReleaseError("wheel", f"{path.name} is not in {wheels}: python3 dev.py build")
    return path


def first_sentence(text: str) -> str:
    """The first sentence of a description, for a list of tools."""
    sentence = text.strip().partition("\n")[0].partition(". ")[0].rstrip(".") + "."
    return sentence if len(sentence) <= LONGEST_DESCRIPTION else sentence[: LONGEST_DESCRIPTION - 1] + "…"


def tools_in(wheel: Path, module: str) -> list[dict[str, str]]:
    """Name and first sentence of every tool in the surface that a server's wheel holds."""
    with zipfile.ZipFile(wheel) as archive:
        listed = json.loads(archive.read(f"{module}/surface.json"))["tools/list"]
    newest = listed[max(version for version, answer in listed.items() if isinstance(answer, dict))]
    return [{"name": t["name"], "description": first_sentence(t["description"])} for t in newest["tools"]]


def contents(root: Path, name: str, wheels: Path) -> dict[str, bytes]:
    """The files of a server's bundle, by their path in it.

    Raises:
        ReleaseError: the package is unknown, has no manifest.json or its wheel is not there.
    """
    known = members(root)
    if name not in known or not (known[name].folder / "manifest.json").is_file():
        raise ReleaseError("unknown_package", f"{name} is no package with a manifest.json")
    member = known[name]
    project = tomllib.loads((member.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    manifest: dict[str, Any] = json.loads((member.folder / "manifest.json").read_text(encoding="utf-8"))
    wheel = wheel_of(member, wheels)
    manifest["tools"] = tools_in(wheel, member.module)
    packed = {name: wheel}
    packed |= {n: wheel_of(known[n], wheels) for n in sorted(set(requirements(wheel)) & set(known))}
    module, _, function = project["scripts"][name].partition(":")
    settings = PROJECT.format(
        name=name,
        version=member.version,
        python=project["requires-python"],
        dependencies=", ".join(f'"{each}"' for each in packed),
        sources="\n".join(f'{n} = {{ path = "wheels/{path.name}" }}' for n, path in packed.items()),
    )
    return {
        "manifest.json": (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode(),
        "pyproject.toml": settings.encode(),
        manifest["server"]["entry_point"]: ENTRY.format(name=name, module=module, function=function).encode(),
        "LICENSE": (member.folder / "LICENSE").read_bytes(),
        **{f"wheels/{path.name}": path.read_bytes() for path in packed.values()},
    }


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes a zip file whose bytes depend on nothing but its contents."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files):
            # Stored, not compressed: another zlib packs differently, and the wheels are packed already.
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = UNIX
            member.external_attr = 0o100644 << 16
            archive.writestr(member, files[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's text for what it does and for the exit codes."""
    parser = argparse.ArgumentParser(prog="bundle.py", description="Make the .mcpb bundle of a server.")
    parser.add_argument("package", help="a package with a manifest.json")
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace's root (default: here)")
    parser.add_argument("--wheels", type=Path, required=True, help="folder with the wheels")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the bundle into")
    options = parser.parse_args(arguments)
    try:
        files = contents(options.root, options.package, options.wheels)
    except ReleaseError as error:
        sys.stderr.write(f"bundle: {error} [{error.kind}]\n")
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{options.package}-{json.loads(files['manifest.json'])['version']}.mcpb"
    write(path, files)
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
