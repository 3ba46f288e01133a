"""Decides what a release tag may publish. Standard library only; the release workflow is its user.

Two questions, one command each:

- `tag`: does the tag agree with the tree? `<package>-v<version>` names a member of the workspace, the version
  is the one in its pyproject.toml and in its `__version__`, and its CHANGELOG.md has a section for it.
- `plan`: what of the files just built does the index still lack? A file that the index holds with the same
  SHA-256 is left out, so a release that was cut short can be run again. A file that it holds with other bytes,
  or a file of this version that this build did not make, stops the release. A package that needs another
  member of the workspace is refused until a version that its range allows is on the index.

The index is asked through the JSON form of the simple repository API
(packaging.python.org, "Simple repository API"); its base address is always an argument.

Exit codes: 0 go on, 1 the release must not happen (why is on stderr), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import email.parser
import hashlib
import json
import os
import re
import shutil
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
TIMEOUT_SECONDS = 30
MAX_ANSWER_BYTES = 32 * 1024 * 1024
TAG = re.compile(r"(?P<package>[a-z0-9]+(?:-[a-z0-9]+)*)-v(?P<version>\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")
CLAUSE = re.compile(r"(?P<operator>>=|<=|==|!=|>|<|~=)\s*(?P<version>\d+(?:\.\d+)*)")
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^();]*)\)?")


class ReleaseError(Exception):
    """The release must not go on; `kind` says which rule forbids it, the text why and what to do."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclasses.dataclass(frozen=True)
class Member:
    """One package of the workspace."""

    name: str
    version: str
    folder: Path
    module: str

    @property
    def stem(self) -> str:
        """What the names of its wheel and its sdist begin with."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def wheel(self) -> str:
        """The name of its wheel."""
        return f"{self.stem}-py3-none-any.whl"


@dataclasses.dataclass(frozen=True)
class Published:
    """A file that the index holds."""

    filename: str
    sha256: str
    yanked: bool


@dataclasses.dataclass(frozen=True)
class Built:
    """A file that this build made."""

    path: Path
    sha256: str


def canonical(name: str) -> str:
    """A distribution name in the form in which indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def members(root: Path) -> dict[str, Member]:
    """The packages that the workspace's root lists, by canonical name.

    Raises:
        ReleaseError: a member has no name or version, or its wheel's module cannot be told.
    """
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Member] = {}
    for pattern in settings["tool"]["uv"]["workspace"]["members"]:
        for folder in sorted(root.glob(pattern)):
            manifest = folder / "pyproject.toml"
            if not manifest.is_file():
                continue
            member = tomllib.loads(manifest.read_text(encoding="utf-8"))
            try:
                name, version = member["project"]["name"], member["project"]["version"]
                module = member["tool"]["uv"]["build-backend"]["module-name"]
            except KeyError as missing:
                raise ReleaseError("manifest", f"{manifest.relative_to(root)} lacks {missing}") from missing
            found[canonical(name)] = Member(canonical(name), version, folder, module)
    return found


def check_tag(root: Path, tag: str) -> Member:
    """The member that a tag releases, once the tag, the tree and the changelog agree.

    Raises:
        ReleaseError: they do not.
    """
    parts = TAG.fullmatch(tag)
    if parts is None:
        raise ReleaseError("bad_tag", f"tag {tag!r} is not <package>-v<major>.<minor>.<patch>")
    known = members(root)
    member = known.get(parts["package"])
    if member is None:
        raise ReleaseError(
            "unknown_package", f"tag {tag!r} names no package of the workspace; there are {', '.join(known)}"
        )
    if member.version != parts["version"]:
        raise ReleaseError(
            "version_mismatch",
            f"tag {tag!r} but {member.name}'s pyproject.toml says {member.version}: tag the commit that sets it",
        )
    module = (member.folder / "src" / member.module / "__init__.py").read_text(encoding="utf-8")
    if f'__version__ = "{member.version}"' not in module:
        raise ReleaseError("version_mismatch", f"{member.module}.__version__ is not {member.version}")
    changelog = (member.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(member.version)}\]", changelog, re.MULTILINE):
        raise ReleaseError(
            "changelog",
            f"{member.name}'s CHANGELOG.md has no section '## [{member.version}]': write it first",
        )
    return member


def release_number(version: str) -> tuple[int, ...] | None:
    """The numbers of a final release with trailing zeros dropped; None for anything else."""
    if not re.fullmatch(r"\d+(?:\.\d+)*", version):
        return None
    numbers = [int(part) for part in version.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def satisfies(version: str, wanted: str) -> bool:
    """Whether a final release lies in a version range such as `>=0.1.0,<0.2`; pre-releases never do.

    Raises:
        ReleaseError: the range uses something this script does not know.
    """
    number = release_number(version)
    verdict = number is not None
    for text in filter(None, (part.strip() for part in wanted.split(","))):
        clause = CLAUSE.fullmatch(text)
        if clause is None:
            raise ReleaseError(
                "range", f"version range {text!r} is beyond this script: use >=, >, <, <=, ==, != or ~="
            )
        limit = release_number(clause["version"])
        if number is None or limit is None:
            continue
        family = clause["version"].split(".")[:-1]
        verdict &= {
            ">=": number >= limit,
            "<=": number <= limit,
            ">": number > limit,
            "<": number < limit,
            "==": number == limit,
            "!=": number != limit,
            "~=": number >= limit and version.split(".")[: len(family)] == family,
        }[clause["operator"]]
    return verdict


def published_files(index: str, name: str) -> list[Published]:
    """What the index holds under a name; nothing where it does not know the name.

    Raises:
        ReleaseError: the index cannot be reached or does not speak the JSON form of the simple API.
    """
    if not index.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise ReleaseError(
            "index", "the index must be an https:// address (repository variable PACKAGE_INDEX_JSON)"
        )
    request = urllib.request.Request(f"{index.rstrip('/')}/{name}/", headers={"Accept": SIMPLE_JSON})  # noqa: S310 - schemes are checked above
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - likewise
            page = json.loads(answer.read(MAX_ANSWER_BYTES))
        return [
            Published(entry["filename"], entry["hashes"]["sha256"], bool(entry.get("yanked", False)))
            for entry in page["files"]
        ]
    except urllib.error.HTTPError as error:
        error.close()  # it is the open answer as well
        if error.code == 404:
            return []
        raise ReleaseError(
            "index", f"the index answered {error.code} when asked for {name}; try again later"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(
            "index", f"the index gave no usable answer for {name} ({type(error).__name__})"
        ) from error


def version_of_file(filename: str) -> str:
    """The version in the name of a wheel or sdist; empty where the name has none."""
    stem = filename.removesuffix(".tar.gz")
    parts = filename.split("-") if filename.endswith(".whl") else stem.rsplit("-", 1)
    return parts[1] if len(parts) > 1 else ""


def built_files(dist: Path, member: Member) -> list[Built]:
    """The wheel and the sdist that a build left in a folder.

    Raises:
        ReleaseError: the folder does not hold exactly these two files of this member and version.
    """
    wanted = {f"{member.stem}.tar.gz", member.wheel}
    present = {path.name for path in dist.iterdir() if path.suffix in {".whl", ".gz"}}
    if present != wanted:
        raise ReleaseError("build", f"expected {sorted(wanted)} in the build folder, found {sorted(present)}")
    return [
        Built(dist / name, hashlib.sha256((dist / name).read_bytes()).hexdigest()) for name in sorted(wanted)
    ]


def requirements(wheel: Path) -> dict[str, str]:
    """The ranges that a wheel's metadata asks for, by canonical name."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.parser.Parser().parsestr(archive.read(name).decode("utf-8"))
    found: dict[str, str] = {}
    for line in metadata.get_all("Requires-Dist", []):
        parts = REQUIREMENT.match(line)
        if parts is not None:
            ranges = filter(None, [found.get(canonical(parts["name"])), parts["range"].strip()])
            found[canonical(parts["name"])] = ",".join(ranges)
    return found


def missing_files(built: Iterable[Built], published: Iterable[Published], version: str) -> list[Built]:
    """The built files that the index lacks.

    Raises:
        ReleaseError: the index holds other bytes under a name of ours, or a file of this version we did not make.
    """
    ours = {file.path.name: file for file in built}
    held = {file.filename: file for file in published if version_of_file(file.filename) == version}
    for name, file in held.items():
        if name not in ours:
            raise ReleaseError(
                "foreign_file", f"the index holds {name}, which this build did not make: raise the version"
            )
        if file.sha256 != ours[name].sha256:
            raise ReleaseError(
                "changed_file",
                f"the index holds {name} with other bytes: a version is never changed, raise it",
            )
    return [file for name, file in ours.items() if name not in held]


def check_siblings(wheel: Path, siblings: Iterable[str], index: str) -> None:
    """Sees that each member of the workspace that a wheel needs can be had from the index.

    Raises:
        ReleaseError: no published, unyanked final version lies in the wheel's range.
    """
    needed = requirements(wheel)
    for name in sorted(set(siblings) & set(needed)):
        available = {version_of_file(f.filename) for f in published_files(index, name) if not f.yanked}
        if not any(satisfies(version, needed[name]) for version in available):
            raise ReleaseError(
                "sibling",
                f"{wheel.name} needs {name}{needed[name]}, which the index lacks: release {name} first",
            )


def plan(root: Path, tag: str, dist: Path, index: str) -> list[Built]:
    """The files of a release that are still to be uploaded.

    Raises:
        ReleaseError: the release must not go on.
    """
    member = check_tag(root, tag)
    built = built_files(dist, member)
    to_upload = missing_files(built, published_files(index, member.name), member.version)
    wheel = next(file.path for file in built if file.path.suffix == ".whl")
    check_siblings(wheel, set(members(root)) - {member.name}, index)
    return to_upload


def tell(**outputs: str) -> None:
    """Writes step outputs where the workflow reads them, or to stdout where there is no workflow."""
    lines = "".join(f"{name}={value}\n" for name, value in outputs.items())
    target = os.environ.get("GITHUB_OUTPUT")
    if target:
        with open(target, "a", encoding="utf-8") as stream:
            stream.write(lines)
    else:
        sys.stdout.write(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's text for what it does and for the exit codes."""
    parser = argparse.ArgumentParser(
        prog="reconcile.py", description="Decide what a release tag may publish."
    )
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace's root (default: here)")
    commands = parser.add_subparsers(dest="command", required=True)
    of_tag = commands.add_parser("tag", help="check a tag against the tree")
    of_plan = commands.add_parser("plan", help="find what the index still lacks")
    for command in (of_tag, of_plan):
        command.add_argument("tag", help="<package>-v<version>")
    of_plan.add_argument("--dist", type=Path, required=True, help="folder with the wheel and the sdist")
    of_plan.add_argument("--index", required=True, help="base address of the index's simple API")
    of_plan.add_argument("--upload", type=Path, required=True, help="folder to copy the missing files into")
    options = parser.parse_args(arguments)
    try:
        if options.command == "tag":
            member = check_tag(options.root, options.tag)
            tell(package=member.name, version=member.version)
        else:
            to_upload = plan(options.root, options.tag, options.dist, options.index)
            options.upload.mkdir(parents=True, exist_ok=True)
            for file in to_upload:
                shutil.copy2(file.path, options.upload)
                sys.stderr.write(f"to upload: {file.path.name} sha256={file.sha256}\n")
            tell(upload="true" if to_upload else "false")
    except ReleaseError as error:
        sys.stderr.write(f"reconcile: {error} [{error.kind}]\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
