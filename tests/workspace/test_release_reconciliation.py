"""The release script against an index on this machine that speaks the JSON form of the simple API."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT_SETTINGS = '[tool.uv.workspace]\nmembers = ["shared/kit", "packages/*"]\n'
MEMBER_SETTINGS = """\
[project]
name = "{name}"
version = "{version}"

[tool.uv.build-backend]
module-name = "{module}"
"""


class Index:
    """A package index: file names and hashes by project, and every path that was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, list[dict[str, object]]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.broken: bytes | int | None = None
        self.url = ""

    def hold(self, project: str, *names: str, content: bytes = b"", yanked: bool | str = False) -> None:
        entries = self.files.setdefault(project, [])
        for name in names:
            digest = hashlib.sha256(content).hexdigest()
            entries.append({"filename": name, "hashes": {"sha256": digest}, "yanked": yanked, "url": name})

    def answer(self, path: str) -> tuple[int, bytes]:
        if isinstance(self.broken, int):
            return self.broken, b""
        if self.broken is not None:
            return 200, self.broken
        project = path.removeprefix("/simple/").rstrip("/")
        if project not in self.files:
            return 404, b"no such project"
        page = {"meta": {"api-version": "1.1"}, "name": project, "files": self.files[project]}
        return 200, json.dumps(page).encode()


@pytest.fixture
def index() -> Iterator[Index]:
    held = Index()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.asked.append((self.path, self.headers.get("Accept")))
            status, body = held.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        held.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
        yield held
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def reconcile(root: Path, script: Callable[[Path], ModuleType]) -> ModuleType:
    return script(root / ".github" / "release" / "reconcile.py")


def write_member(folder: Path, name: str, version: str = "1.2.0", *, dunder: str | None = None) -> None:
    module = name.replace("-", "_")
    package = folder / "src" / module
    package.mkdir(parents=True, exist_ok=True)
    settings = MEMBER_SETTINGS.format(name=name, version=version, module=module)
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    (package / "__init__.py").write_text(f'__version__ = "{dunder or version}"\n', encoding="utf-8")
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{version}] - 2026-01-01\n", encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A workspace of a kit and a server that needs it."""
    (tmp_path / "pyproject.toml").write_text(ROOT_SETTINGS, encoding="utf-8")
    write_member(tmp_path / "shared" / "kit", "the-kit", "0.3.0")
    write_member(tmp_path / "packages" / "server", "the-server")
    (tmp_path / "packages" / "not-a-package").mkdir()
    return tmp_path


def build(tree: Path, name: str, version: str, requires: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Leaves a wheel and an sdist in dist/, as a build would; gives their bytes by name."""
    dist = tree / "dist"
    dist.mkdir()
    stem = f"{name.replace('-', '_')}-{version}"
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
    metadata = "\n".join([*lines, *(f"Requires-Dist: {requirement}" for requirement in requires), "", ""])
    with zipfile.ZipFile(dist / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
    (dist / f"{stem}.tar.gz").write_bytes(b"an sdist")
    return {path.name: path.read_bytes() for path in dist.iterdir()}


@pytest.fixture
def server_build(tree: Path) -> dict[str, bytes]:
    return build(
        tree, "the-server", "1.2.0", ("anyio>=4", "the-kit[http]<0.4,>=0.3.0", 'the-kit>=0.2; extra == "x"')
    )


def refusal(reconcile: ModuleType, call: Callable[[], object]) -> str:
    with pytest.raises(reconcile.ReleaseError) as refused:
        call()
    kind: str = refused.value.kind
    return kind


def uploads(reconcile: ModuleType, tree: Path, index: Index, tag: str = "the-server-v1.2.0") -> set[str]:
    return {file.path.name for file in reconcile.plan(tree, tag, tree / "dist", index.url)}


def test_a_tag_that_agrees_with_the_tree_names_its_member(reconcile: ModuleType, tree: Path) -> None:
    member = reconcile.check_tag(tree, "the-kit-v0.3.0")
    assert (member.name, member.version) == ("the-kit", "0.3.0")


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("v1.2.0", "bad_tag"),
        ("the-server-1.2.0", "bad_tag"),
        ("the-server-v1.2", "bad_tag"),
        ("the-server-v1.2.0\n", "bad_tag"),
        ("../x-v1.2.0", "bad_tag"),
        ("another-v1.2.0", "unknown_package"),
        ("the-server-v1.2.1", "version_mismatch"),
    ],
)
def test_a_tag_that_disagrees_is_refused(reconcile: ModuleType, tree: Path, tag: str, kind: str) -> None:
    assert refusal(reconcile, lambda: reconcile.check_tag(tree, tag)) == kind


def test_a_module_that_calls_itself_another_version_is_refused(reconcile: ModuleType, tree: Path) -> None:
    write_member(tree / "packages" / "server", "the-server", "1.2.0", dunder="1.1.0")
    assert refusal(reconcile, lambda: reconcile.check_tag(tree, "the-server-v1.2.0")) == "version_mismatch"


def test_a_version_without_a_changelog_section_is_refused(reconcile: ModuleType, tree: Path) -> None:
    (tree / "packages" / "server" / "CHANGELOG.md").write_text(
        "## [Unreleased]\n## [11.2.0]\n", encoding="utf-8"
    )
    assert refusal(reconcile, lambda: reconcile.check_tag(tree, "the-server-v1.2.0")) == "changelog"


def test_a_member_whose_settings_lack_a_version_is_refused(reconcile: ModuleType, tree: Path) -> None:
    (tree / "packages" / "server" / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert refusal(reconcile, lambda: reconcile.members(tree)) == "manifest"


def test_every_real_member_can_be_read(reconcile: ModuleType, root: Path, members: list[Path]) -> None:
    assert {member.folder for member in reconcile.members(root).values()} == set(members)


def test_a_first_release_uploads_both_files(reconcile: ModuleType, tree: Path, index: Index) -> None:
    built = build(tree, "the-kit", "0.3.0")
    assert uploads(reconcile, tree, index, "the-kit-v0.3.0") == set(built)
    assert index.asked == [("/simple/the-kit/", "application/vnd.pypi.simple.v1+json")]


def test_older_versions_on_the_index_do_not_matter(reconcile: ModuleType, tree: Path, index: Index) -> None:
    built = build(tree, "the-kit", "0.3.0")
    index.hold("the-kit", "the_kit-0.2.0.tar.gz", "the_kit-0.2.0-py3-none-any.whl", "the_kit-0.3.0rc1.tar.gz")
    assert uploads(reconcile, tree, index, "the-kit-v0.3.0") == set(built)


def test_what_the_index_holds_with_the_same_bytes_is_left_out(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes]
) -> None:
    index.hold("the-kit", "the_kit-0.3.0-py3-none-any.whl")
    wheel, sdist = sorted(server_build)
    index.hold("the-server", wheel, content=server_build[wheel])
    assert uploads(reconcile, tree, index) == {sdist}
    index.hold("the-server", sdist, content=server_build[sdist])
    assert uploads(reconcile, tree, index) == set()


def test_other_bytes_under_the_same_name_stop_the_release(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes]
) -> None:
    index.hold("the-server", min(server_build), content=b"something else")
    assert refusal(reconcile, lambda: uploads(reconcile, tree, index)) == "changed_file"


def test_a_file_of_this_version_that_was_not_built_stops_the_release(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes]
) -> None:
    assert server_build
    index.hold("the-server", "the_server-1.2.0-cp311-cp311-linux_x86_64.whl")
    assert refusal(reconcile, lambda: uploads(reconcile, tree, index)) == "foreign_file"


@pytest.mark.parametrize(
    ("held", "yanked"),
    [
        ((), False),
        (("the_kit-0.2.9-py3-none-any.whl",), False),
        (("the_kit-0.4.0-py3-none-any.whl",), False),
        (("the_kit-0.3.0rc1-py3-none-any.whl",), False),
        (("the_kit-0.3.0-py3-none-any.whl",), "broken"),
    ],
)
def test_a_server_is_not_published_before_the_kit_it_needs(
    reconcile: ModuleType,
    tree: Path,
    index: Index,
    server_build: dict[str, bytes],
    held: tuple[str, ...],
    yanked: bool | str,
) -> None:
    assert server_build
    index.hold("the-kit", *held, yanked=yanked)
    assert refusal(reconcile, lambda: uploads(reconcile, tree, index)) == "sibling"


def test_a_server_whose_kit_is_there_is_published(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes]
) -> None:
    index.hold("the-kit", "the_kit-0.3.7-py3-none-any.whl")
    assert uploads(reconcile, tree, index) == set(server_build)


@pytest.mark.parametrize("broken", [500, b"<html>", b"{}", b'{"files": [{"filename": 1}]}', b"[]"])
def test_an_index_that_gives_no_usable_answer_stops_the_release(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes], broken: bytes | int
) -> None:
    assert server_build
    index.broken = broken
    assert refusal(reconcile, lambda: uploads(reconcile, tree, index)) == "index"


@pytest.mark.parametrize("address", ["", "http://index.example/simple", "file:///simple"])
def test_an_index_is_only_asked_over_https(reconcile: ModuleType, address: str) -> None:
    assert refusal(reconcile, lambda: reconcile.published_files(address, "the-kit")) == "index"


@pytest.mark.parametrize("surplus", ["the_server-1.2.0-cp311-none-any.whl", "the_kit-0.3.0.tar.gz"])
def test_a_build_folder_with_anything_else_in_it_is_refused(
    reconcile: ModuleType, tree: Path, index: Index, server_build: dict[str, bytes], surplus: str
) -> None:
    assert server_build
    (tree / "dist" / surplus).write_bytes(b"")
    assert refusal(reconcile, lambda: uploads(reconcile, tree, index)) == "build"


@pytest.mark.parametrize(
    ("version", "wanted", "verdict"),
    [
        ("0.1.0", "", True),
        ("0.1", ">=0.1.0,<0.2", True),
        ("0.10.0", ">=0.9", True),
        ("0.2.0", "<0.2", False),
        ("0.2", ">0.2.0", False),
        ("1.0.0", "==1", True),
        ("1.0.1", "!= 1.0.1", False),
        ("1.4.9", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("1.5.0", "~=1.4", True),
        ("1.0.0", "~=1.0.0", True),
        ("2.0.0", "~=1.4", False),
        ("1.0.0rc1", ">=0.1", False),
        ("1.0.0.post1", ">=0.1", False),
        ("1.2.0", "<=1.2", True),
    ],
)
def test_ranges_are_understood(reconcile: ModuleType, version: str, wanted: str, verdict: bool) -> None:
    assert reconcile.satisfies(version, wanted) is verdict


@pytest.mark.parametrize("wanted", ["===1.0", "==1.*", "@ https://example.org/x.whl", ">=1.0rc1"])
def test_a_range_beyond_the_script_is_refused_rather_than_guessed(reconcile: ModuleType, wanted: str) -> None:
    assert refusal(reconcile, lambda: reconcile.satisfies("1.0", wanted)) == "range"


def test_the_command_line_leaves_the_missing_files_and_tells_the_workflow(
    reconcile: ModuleType,
    tree: Path,
    index: Index,
    server_build: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = tree / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    index.hold("the-kit", "the_kit-0.3.0.tar.gz")
    root, upload = ["--root", str(tree)], tree / "upload"
    where = ["--dist", str(tree / "dist"), "--index", index.url, "--upload", str(upload)]
    assert reconcile.main([*root, "tag", "the-server-v1.2.0"]) == 0
    assert reconcile.main([*root, "plan", "the-server-v1.2.0", *where]) == 0
    assert {path.name: path.read_bytes() for path in upload.iterdir()} == server_build
    assert outputs.read_text(encoding="utf-8").splitlines() == [
        "package=the-server",
        "version=1.2.0",
        "upload=true",
    ]


def test_the_command_line_says_that_nothing_is_left_to_upload(
    reconcile: ModuleType,
    tree: Path,
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    for name, content in build(tree, "the-kit", "0.3.0").items():
        index.hold("the-kit", name, content=content)
    upload = tree / "upload"
    where = ["--dist", str(tree / "dist"), "--index", index.url, "--upload", str(upload)]
    assert reconcile.main(["--root", str(tree), "plan", "the-kit-v0.3.0", *where]) == 0
    assert capsys.readouterr().out == "upload=false\n"
    assert list(upload.iterdir()) == []


def test_a_refusal_ends_the_command_line_with_1_and_a_reason_on_stderr(
    reconcile: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reconcile.main(["--root", str(tree), "tag", "another-v1.0.0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "[unknown_package]" in said.err
