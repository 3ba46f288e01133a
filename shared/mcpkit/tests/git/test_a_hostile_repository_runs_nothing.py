"""A repository whose configuration, attributes and hooks name programs at every place git knows.

Each program leaves a marker when it runs. Plain git shows that every trap works; then every call of the room runs in
the same repository, and no marker may appear.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mcpkit.git import GitError, Repository, Signature, environment
from mcpkit.git.writing import TreeFile, Writer

Git = Callable[..., bytes]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction",
    "post-checkout", "pre-auto-gc", "fsmonitor-watchman", "update", "pre-receive", "post-update", "pre-push",
)  # fmt: skip


class Hostile(NamedTuple):
    path: Path
    markers: Path
    programs: Path
    first: str
    second: str
    kept_blob: str
    missing_blob: str
    bare: Path

    def ran(self) -> set[str]:
        return {entry.name for entry in self.markers.iterdir()}

    def forget(self) -> None:
        for entry in self.markers.iterdir():
            entry.unlink()


def _program(place: Path, markers: Path, then: str) -> str:
    place.write_text(f"#!/bin/sh\n: > '{markers}/{place.name}'\n{then}\n", encoding="utf-8")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)
    return str(place)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, git: Git) -> Hostile:
    base = tmp_path_factory.mktemp("hostile")
    path, markers, programs = base / "repository", base / "markers", base / "programs"
    markers.mkdir()
    programs.mkdir()
    git(base, "init", "--quiet", "-b", "main", str(path))

    def commit(message: str) -> str:
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "-m", message)
        return git(path, "rev-parse", "HEAD").decode().strip()

    (path / ".gitattributes").write_text("*.evil filter=evil diff=evil merge=evil\n", encoding="utf-8")
    (path / "a.evil").write_bytes(b"one\n")
    (path / "plain").write_bytes(b"one\n")
    (path / "kept").write_bytes(b"kept\n")
    (path / "missing").write_bytes(b"will be missing\n")
    first = commit("first")
    (path / "a.evil").write_bytes(b"two\n")
    (path / "plain").write_bytes(b"two\n")
    (path / "missing").unlink()
    second = commit("second")
    (path / "tip").write_bytes(b"tip\n")
    git(path, "add", "--all")
    signature = "-----BEGIN PGP SIGNATURE-----\n\nmade up\n-----END PGP SIGNATURE-----"
    sign = f"cat >/dev/null; {{ echo; echo '[GNUPG:] SIG_CREATED '; }} >&2; echo '{signature}'"
    git(path, "config", "gpg.program", _program(programs / "gpg-made", markers, sign))
    git(path, "commit", "--quiet", "-S", "-m", "signed")

    # Everything up to here was built without a trap; now they are set.
    kept = git(path, "rev-parse", f"{first}:kept").decode().strip()
    missing = git(path, "rev-parse", f"{first}:missing").decode().strip()
    (path / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    hooks = base / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        _program(hooks / name, markers, "exit 0")
        shutil.copy(hooks / name, path / ".git" / "hooks" / name)
    trap = {
        name: _program(programs / name, markers, then)
        for name, then in {
            "fsmonitor": "printf '0\\0/\\0'",
            "clean": "cat",
            "smudge": "cat",
            "textconv": 'cat "$1"',
            "external-diff": "exit 0",
            "driver-diff": "exit 0",
            "gpg": "exit 1",
            "upload-pack": "exit 1",
            "alias": "exit 0",
            "pager": "cat",
            "ssh": "exit 1",
            "credential": "exit 0",
            "askpass": "exit 1",
            "editor": "exit 0",
            "included-alias": "exit 0",
            "proxy": "exit 1",
            "alternate-refs": "exit 0",
            "mergedriver": "exit 1",
        }.items()
    }
    (base / "included").write_text(
        f'[alias]\n\tincluded = "!{trap["included-alias"]}"\n[diff]\n\texternal = {trap["external-diff"]}\n'
        f"[core]\n\tfsmonitor = {trap['fsmonitor']}\n",
        encoding="utf-8",
    )
    settings = {
        "core.fsmonitor": trap["fsmonitor"],
        "core.hooksPath": str(hooks),
        "core.pager": trap["pager"],
        "core.editor": trap["editor"],
        "core.sshCommand": trap["ssh"],
        "core.askPass": trap["askpass"],
        "core.gitProxy": trap["proxy"],
        "core.alternateRefsCommand": trap["alternate-refs"],
        "core.worktree": str(path),
        "credential.helper": f"!{trap['credential']}",
        "filter.evil.clean": trap["clean"],
        "filter.evil.smudge": trap["smudge"],
        "filter.evil.required": "true",
        "diff.evil.textconv": trap["textconv"],
        "diff.evil.command": trap["driver-diff"],
        "merge.evil.driver": trap["mergedriver"],
        "gpg.program": trap["gpg"],
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "pager.log": trap["pager"],
        "pager.ls-tree": trap["pager"],
        "alias.evil": f"!{trap['alias']}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(base / "elsewhere"),
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none",
        "remote.origin.uploadpack": trap["upload-pack"],
        "includeIf.gitdir:**.path": str(base / "included"),
        "include.path": str(base / "included"),
    }
    for key, value in settings.items():
        git(path, "config", key, value)
    bare = base / "bare.git"
    shutil.copytree(path / ".git", bare)
    git(base, "config", "--file", str(bare / "config"), "core.bare", "true")
    git(base, "config", "--file", str(bare / "config"), "--unset", "core.worktree")
    # What the work tree holds differs from every commit, so that git would have to look at it.
    (path / "a.evil").write_bytes(b"dirty\n")
    (path / "new.evil").write_bytes(b"untracked\n")
    for entry in markers.iterdir():
        entry.unlink()
    return Hostile(path, markers, programs, first, second, kept, missing, bare)


@pytest.fixture
def hostile(built: Hostile) -> Iterator[Hostile]:
    built.forget()
    yield built
    built.forget()


class TestTheTrapsWork:
    @pytest.mark.parametrize(
        ("trap", "arguments"),
        [
            ("fsmonitor", ["status"]),
            ("fsmonitor", ["ls-files"]),
            ("clean", ["diff", "--no-ext-diff", "--no-textconv"]),
            ("smudge", ["archive", "HEAD"]),
            ("textconv", ["log", "-p", "--no-ext-diff", "--no-show-signature"]),
            ("driver-diff", ["diff", "HEAD~2", "HEAD~1", "--", "a.evil"]),
            ("external-diff", ["diff", "HEAD~2", "HEAD~1", "--", "plain"]),
            ("gpg", ["log", "-1"]),
            ("pre-commit", ["commit", "--allow-empty", "-m", "x"]),
            ("reference-transaction", ["update-ref", "refs/heads/trap", "HEAD"]),
            ("post-index-change", ["update-index", "--force-write-index"]),
            ("alias", ["evil"]),
            ("included-alias", ["included"]),
            ("ssh", ["ls-remote", "ssh://example.invalid/x"]),
            ("editor", ["var", "GIT_EDITOR"]),
        ],
    )
    def test_plain_git_runs_the_program(
        self, hostile: Hostile, git: Git, trap: str, arguments: list[str]
    ) -> None:
        output = git(hostile.path, *arguments, check=False)
        if trap == "editor":  # nothing that ends by itself opens one; that git would take it has to do
            assert output.decode().strip() == str(hostile.programs / "editor")
        else:
            assert trap in hostile.ran()

    def test_plain_git_fetches_a_missing_object_through_the_configured_program(
        self, hostile: Hostile, git: Git
    ) -> None:
        for arguments in (
            ["cat-file", "-p", hostile.missing_blob],
            ["rev-parse", "--verify", f"{'1' * 40}^{{commit}}"],
        ):
            hostile.forget()
            git(hostile.path, *arguments, check=False)
            assert "upload-pack" in hostile.ran()

    def test_plain_git_asks_the_credential_helper_and_the_terminal_program(
        self, hostile: Hostile, git: Git
    ) -> None:
        git(hostile.path, "credential", "fill", data=b"protocol=https\nhost=example.invalid\n\n", check=False)
        assert {"credential", "askpass"} <= hostile.ran()

    def test_plain_git_pages_on_a_terminal(self, hostile: Hostile) -> None:
        pty = pytest.importorskip("pty")
        controller, terminal = pty.openpty()
        try:
            subprocess.run(
                ["git", "log", "--no-show-signature", "-1"],
                cwd=hostile.path,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=terminal,
                check=False,
                timeout=60,
                env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C"},
            )
        finally:
            os.close(controller)
            os.close(terminal)
        assert "pager" in hostile.ran()


PERSON = Signature(b"A", b"a@example.invalid", 1, "+0000")


def _read(repository: Repository, oid: str) -> None:
    with repository.blobs() as reader:
        assert reader.header(oid) == ("blob", 5)
        assert reader.read(oid) == b"kept\n"


def _read_missing(repository: Repository, oid: str) -> None:
    with repository.blobs() as reader:
        _refused("missing_object", lambda: reader.header(oid))
        _refused("missing_object", lambda: reader.read(oid))


def _read_many(hostile: Hostile, repository: Repository) -> None:
    with repository.blobs() as reader:
        answers = dict(reader.read_many([hostile.kept_blob, hostile.missing_blob, hostile.kept_blob]))
    assert answers[hostile.kept_blob] == b"kept\n"
    assert isinstance(answers[hostile.missing_blob], GitError)


def _refused(kind: str, call: Callable[[], object]) -> None:
    with pytest.raises(GitError) as caught:
        call()
    assert caught.value.kind == kind


def _rebuild(repository: Repository) -> None:
    writer = Writer(repository)
    blob = writer.write_blob(b"rebuilt\n")
    tree = writer.write_tree([
        TreeFile("100644", blob, b"new/a.evil"),
        TreeFile("100644", blob, b".gitattributes"),
    ])
    commit = writer.commit_tree(
        tree, parents=[repository.resolve()], author=PERSON, committer=PERSON, message=b"by us\n"
    )
    assert writer.write_commit(repository.commit(commit).raw) == commit
    writer.update_ref("refs/heads/ours", commit, None)
    _refused("ref_changed", lambda: writer.update_ref("refs/heads/ours", commit, None))
    writer.delete_ref("refs/heads/ours", commit)


CALLS: dict[str, Callable[[Hostile, Repository], object]] = {
    "head": lambda _, r: r.head(),
    "symbolic_ref": lambda _, r: r.symbolic_ref("HEAD"),
    "read_ref": lambda _, r: r.read_ref("refs/heads/main"),
    "refs": lambda _, r: r.refs(),
    "resolve": lambda _, r: [r.resolve(), r.resolve("main"), r.resolve("HEAD~1")],
    "resolve what is missing": lambda _, r: _refused("unknown_revision", lambda: r.resolve("1" * 40)),
    "resolve a missing blob": lambda h, r: _refused("unknown_revision", lambda: r.resolve(h.missing_blob)),
    "resolve an abbreviation": lambda h, r: [r.resolve(h.first[:8]), r.commits_with_prefix(h.first[:4])],
    "list_tree": lambda h, r: [r.list_tree(h.first), r.list_tree(h.second, sizes=False)],
    "list_tree below a path": lambda h, r: r.list_tree(h.first, path=b"missing"),
    "is_tracked": lambda _, r: [r.is_tracked("a.evil"), r.is_tracked("A.EVIL", ignore_case=True)],
    "commit": lambda h, r: r.commit(h.first),
    "log": lambda _, r: list(r.log(r.resolve(), max_count=10)),
    "rev_list": lambda _, r: r.rev_list([r.resolve()]),
    "merge_base": lambda h, r: [r.merge_base(h.first, h.second), r.is_ancestor(h.first, h.second)],
    "diff_names": lambda h, r: r.diff_names(h.second, r.resolve(), find_renames=True),
    "diff_patch": lambda h, r: r.diff_patch(h.second, r.resolve()),
    "diff_patch of filtered files": lambda h, r: r.diff_patch(h.first, h.second, paths=[b"a.evil", b"plain"]),
    "diff_patch over a missing blob": lambda h, r: _refused(
        "missing_object", lambda: r.diff_patch(h.first, h.second)
    ),
    "read": lambda h, r: _read(r, h.kept_blob),
    "read a missing blob": lambda h, r: _read_missing(r, h.missing_blob),
    "read_many": _read_many,
    "config_value": lambda _, r: r.config_value("remote.origin.url"),
    "writing": lambda _, r: _rebuild(r),
}


@pytest.mark.parametrize("place", ["work tree", "bare"])
@pytest.mark.parametrize("name", CALLS)
def test_no_call_runs_a_program_of_the_repository(hostile: Hostile, name: str, place: str) -> None:
    repository = (
        Repository.open(hostile.path) if place == "work tree" else Repository.open(hostile.bare, bare=True)
    )
    CALLS[name](hostile, repository)
    assert hostile.ran() == set()


@pytest.fixture
def only_guard(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`only_guard(name)` takes away every guard against fetching but one."""

    def keep(guard: str) -> None:
        others = {"GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"} - {guard}
        fixed = {name: value for name, value in environment._FIXED.items() if name not in others}
        kept = [
            word for word in environment._CONFIGURATION if word == guard or not word.startswith("protocol.")
        ]
        monkeypatch.setattr(environment, "_FIXED", fixed)
        monkeypatch.setattr(environment, "_CONFIGURATION", kept)

    return keep


# The third, GIT_NO_LAZY_FETCH, is not known to every supported git.
@pytest.mark.parametrize("guard", ["GIT_ALLOW_PROTOCOL", "protocol.allow=never"])
def test_each_guard_against_fetching_is_enough_by_itself(
    hostile: Hostile, guard: str, only_guard: Callable[[str], None]
) -> None:
    only_guard(guard)
    _read_missing(Repository.open(hostile.path), hostile.missing_blob)
    assert hostile.ran() == set()


def test_without_any_guard_a_missing_object_would_be_fetched(
    hostile: Hostile, only_guard: Callable[[str], None]
) -> None:
    only_guard("none")
    with Repository.open(hostile.path).blobs() as reader:
        _refused("missing_object", lambda: reader.read(hostile.missing_blob))
    assert "upload-pack" in hostile.ran()


def test_calls_answer_what_the_repository_holds(hostile: Hostile) -> None:
    repository = Repository.open(hostile.path)
    assert b"+two" in repository.diff_patch(hostile.first, hostile.second, paths=[b"a.evil"])
    assert [entry.path for entry in repository.list_tree(hostile.first)] == [
        b".gitattributes",
        b"a.evil",
        b"kept",
        b"missing",
        b"plain",
    ]


def test_nothing_the_callers_environment_says_reaches_git(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trap = str(hostile.programs / "alias")
    home = tmp_path / "home"
    (home / "git").mkdir(parents=True)
    for place in (home / ".gitconfig", home / "git" / "config"):
        place.write_text(f"[diff]\n\texternal = {trap}\n[core]\n\tfsmonitor = {trap}\n", encoding="utf-8")
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={trap}'",
        "GIT_DIR": str(tmp_path / "none"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(tmp_path),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_EXTERNAL_DIFF": trap,
        "GIT_DIFF_OPTS": "-u9",
        "GIT_SSH_COMMAND": trap,
        "GIT_PROXY_COMMAND": trap,
        "GIT_ASKPASS": trap,
        "GIT_EDITOR": trap,
        "GIT_PAGER": trap,
        "PAGER": trap,
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_TRACE2": str(tmp_path / "trace"),
        "GIT_TEMPLATE_DIR": str(tmp_path),
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_ATTR_SOURCE": "HEAD",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_ICASE_PATHSPECS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    repository = Repository.open(hostile.path)
    for call in CALLS.values():
        call(hostile, repository)
    assert hostile.ran() == set()
    assert not (tmp_path / "trace").exists()


def test_a_program_named_git_in_the_current_directory_is_not_taken_for_git(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _program(tmp_path / "git", hostile.markers, "exit 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    Repository.open(hostile.path).head()
    assert hostile.ran() == set()


def test_importing_gitpython_inside_the_repository_runs_nothing(hostile: Hostile) -> None:
    import sys

    script = "from mcpkit.git import Repository; Repository.open('.').head()"
    subprocess.run([sys.executable, "-P", "-c", script], cwd=hostile.path, check=True, timeout=60)
    assert hostile.ran() == set()


def test_reading_changes_no_file_of_the_repository(hostile: Hostile) -> None:
    def state() -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for folder, _, names in os.walk(hostile.path):
            for name in names:
                place = Path(folder, name)
                status = place.lstat()
                found[str(place)] = (status.st_mode, status.st_mtime_ns, place.read_bytes())
        return found

    before = state()
    repository = Repository.open(hostile.path)
    for name, call in CALLS.items():
        if name != "writing":
            call(hostile, repository)
    assert state() == before
