"""What may and what must be in the tree: no machine's paths, no registry's host, licences, versions, links."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

LOCK_FILES = ("uv.lock", "package-lock.json")
# Data recorded from elsewhere and kept byte for byte: what it says is not ours to change.
RECORDED = re.compile(r"^packages/[^/]+/tests/(vectors|fixtures)/")
# Written in pieces, so that this file does not hold what it forbids.
REGISTRY_HOSTS = [
    f"{name}{end}" for name, end in [("pypi", ".org"), ("pythonhosted", ".org"), ("npmjs", ".org")]
]
MACHINE_PATH = re.compile(
    r"(?<![\w.~$}/-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "fa" + "rm"]) + r")(?![\w-])"
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$", re.MULTILINE)


def pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def texts(root: Path, tracked: list[str]) -> dict[str, str]:
    """Our own text files, by name; recorded data, lock files and binary files are left out."""
    found = {}
    for name in tracked:
        if RECORDED.match(name) or Path(name).name in LOCK_FILES:
            continue
        content = (root / name).read_bytes()
        if b"\0" not in content:
            found[name] = content.decode("utf-8", "replace")
    return found


def prose(markdown: str) -> str:
    """Markdown without its code, in which nothing is a link or a heading."""
    without_blocks = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("[", "").replace("#", ""), without_blocks)


def anchors(markdown: str) -> set[str]:
    """The fragments that headings give, as the usual renderers make them."""
    titles = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title) for title in HEADING.findall(prose(markdown)))
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def test_no_registry_host_is_named_outside_lock_files(root: Path, tracked: list[str]) -> None:
    assert [
        n for n, text in texts(root, tracked).items() if any(host in text for host in REGISTRY_HOSTS)
    ] == []


def test_no_path_of_a_machine_is_named(root: Path, tracked: list[str]) -> None:
    hits = {n: found.group() for n, t in texts(root, tracked).items() if (found := MACHINE_PATH.search(t))}
    assert hits == {}


def test_every_relative_link_leads_somewhere(root: Path, tracked: list[str]) -> None:
    broken = []
    for name in (n for n in tracked if n.endswith(".md") and not RECORDED.match(n)):
        markdown = (root / name).read_text(encoding="utf-8")
        for found in LINK.finditer(prose(markdown)):
            target = found[1] or found[2]
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, fragment = target.partition("#")
            file = (root / name).parent / path if path else root / name
            if not file.exists():
                broken.append(f"{name}: {target}")
            elif (
                fragment
                and file.suffix == ".md"
                and fragment not in anchors(file.read_text(encoding="utf-8"))
            ):
                broken.append(f"{name}: {target} (no such heading)")
    assert broken == []


def test_every_page_of_the_site_has_its_place_in_the_navigation(root: Path) -> None:
    site = tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))["project"]

    def pages(entries: list[Any]) -> list[str]:
        return [
            page
            for entry in entries
            for target in (entry.values() if isinstance(entry, dict) else [entry])
            for page in ([target] if isinstance(target, str) else pages(target))
        ]

    docs = root / site["docs_dir"]
    assert sorted(pages(site["nav"])) == sorted(p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))


def test_every_member_has_a_licence_a_readme_a_changelog_and_types(members: list[Path]) -> None:
    missing = []
    for folder in members:
        module = pyproject(folder)["tool"]["uv"]["build-backend"]["module-name"]
        wanted = ["LICENSE", "README.md", "CHANGELOG.md", f"src/{module}/py.typed"]
        missing += [f"{folder.name}: {name}" for name in wanted if not (folder / name).is_file()]
    assert missing == []


def test_every_member_carries_the_licence_of_the_root(root: Path, members: list[Path]) -> None:
    licence = (root / "LICENSE").read_text(encoding="utf-8")
    assert [m.name for m in members if (m / "LICENSE").read_text(encoding="utf-8") != licence] == []


def test_the_version_is_the_same_wherever_it_is_written(members: list[Path]) -> None:
    different = []
    for folder in members:
        settings = pyproject(folder)
        module = folder / "src" / settings["tool"]["uv"]["build-backend"]["module-name"] / "__init__.py"
        if f'__version__ = "{settings["project"]["version"]}"' not in module.read_text(encoding="utf-8"):
            different.append(folder.name)
    assert different == []


def test_every_changelog_tells_of_the_version_or_of_what_is_unreleased(members: list[Path]) -> None:
    silent = []
    for folder in members:
        changelog = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
        version = pyproject(folder)["project"]["version"]
        if f"## [{version}]" not in changelog and "## [Unreleased]" not in changelog:
            silent.append(folder.name)
    assert silent == []


def test_every_member_asks_for_the_same_pythons(root: Path, members: list[Path]) -> None:
    wanted = {folder.name: pyproject(folder)["project"]["requires-python"] for folder in [root, *members]}
    assert set(wanted.values()) == {">=3.11"}, wanted


def test_the_root_knows_every_member(root: Path, members: list[Path]) -> None:
    settings = pyproject(root)
    tools = settings["tool"]
    installed = {
        re.split(r"[\[<>=~ ]", requirement)[0] for requirement in settings["project"]["dependencies"]
    }
    unknown = []
    for folder in members:
        member = pyproject(folder)
        name, module = member["project"]["name"], member["tool"]["uv"]["build-backend"]["module-name"]
        known = {
            "dependencies": name in installed,
            "sources": tools["uv"]["sources"].get(name) == {"workspace": True},
            "coverage": module in tools["coverage"]["run"]["source_pkgs"],
            "mypy_path": f"$MYPY_CONFIG_FILE_DIR/{folder.relative_to(root).as_posix()}/src"
            in tools["mypy"]["mypy_path"],
        }
        unknown += [f"{name}: {where}" for where, is_known in known.items() if not is_known]
    assert unknown == []


def test_files_whose_bytes_matter_are_never_converted(root: Path, tracked: list[str]) -> None:
    delicate = []
    for name in tracked:
        content = (root / name).read_bytes()
        try:
            content.decode("utf-8")
            plain = b"\r" not in content and not content.startswith(b"\xef\xbb\xbf")
        except UnicodeDecodeError:
            plain = False
        if not plain or RECORDED.match(name):
            delicate.append(name)
    answer = subprocess.run(
        ["git", "check-attr", "-z", "--stdin", "text"],
        cwd=root,
        input="\0".join(delicate).encode(),
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8")
    fields = answer.split("\0")
    converted = [name for name, value in zip(fields[::3], fields[2::3], strict=False) if value != "unset"]
    assert converted == []
