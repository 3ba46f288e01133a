"""Whether a work tree differs from HEAD: always what git says, found without asking git's own comparison."""

from __future__ import annotations

import os
import random
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpkit.git import GitError, Repository
from mcpkit.git.index_file import IndexUnreadable, read_index
from mcpkit.git.worktree import StateLimits, WorkTreeState, read_work_tree_state

Git = Callable[..., bytes]
CommitFiles = Callable[..., str]

posix_modes = pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
posix_scripts = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")
NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def state_of(path: Path, **options: object) -> WorkTreeState:
    options.setdefault("environ", NOBODY)
    return read_work_tree_state(Repository.open(path), **options)  # type: ignore[arg-type]


def kinds(state: WorkTreeState) -> dict[bytes, str]:
    return {change.path: change.kind for change in state.changes}


def said_by_git(git: Git, path: Path) -> set[bytes]:
    changed = git(path, "diff", "--name-only", "-z", "--no-renames", "HEAD").split(b"\0")
    untracked = git(path, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    return {name for name in (*changed, *untracked) if name}


def make_old(path: Path) -> None:
    """Give all files a time long before the index, so that their status alone says that they are clean."""
    for place, _, names in os.walk(path):
        if ".git" not in Path(place).parts:
            for name in names:
                os.utime(Path(place, name), (1_600_000_000, 1_600_000_000), follow_symlinks=False)


def test_a_fresh_commit_is_clean(repository: Path, commit_files: CommitFiles) -> None:
    commit_files(repository, {"a.md": b"a\n", "dir/b.md": b"b\n"})
    assert state_of(repository) == WorkTreeState(())


def test_every_kind_of_change_is_told(repository: Path, git: Git, commit_files: CommitFiles) -> None:
    names = ["changed", "gone", "unstaged", "staged", "typed", "untracked-now"]
    commit_files(repository, {name: name.encode() + b"\n" for name in names})
    (repository / "changed").write_bytes(b"other\n")
    (repository / "gone").unlink()
    (repository / "staged").write_bytes(b"staged now\n")
    (repository / "new").write_bytes(b"new\n")
    (repository / "added").write_bytes(b"added\n")
    git(repository, "add", "staged", "added")
    git(repository, "rm", "--cached", "--quiet", "untracked-now")
    (repository / "typed").unlink()
    (repository / "typed").mkdir()
    (repository / "typed" / "inside").write_bytes(b"x\n")
    found = kinds(state_of(repository))
    assert found == {
        b"changed": "modified",
        b"gone": "deleted",
        b"staged": "modified",
        b"new": "untracked",
        b"added": "added",
        b"untracked-now": "deleted",
        b"typed": "deleted",
        b"typed/inside": "untracked",
    }
    assert set(found) == said_by_git(git, repository)


def test_a_change_that_was_staged_and_taken_back_on_disk_is_none_as_for_git_diff_head(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"one\n"})
    (repository / "a").write_bytes(b"two\n")
    git(repository, "add", "a")
    (repository / "a").write_bytes(b"one\n")
    assert said_by_git(git, repository) == set()
    assert not state_of(repository).dirty


def test_everything_is_added_before_the_first_commit(repository: Path, git: Git) -> None:
    assert not state_of(repository).dirty
    (repository / "a").write_bytes(b"a\n")
    assert kinds(state_of(repository)) == {b"a": "untracked"}
    git(repository, "add", "a")
    assert kinds(state_of(repository)) == {b"a": "added"}


def test_a_touched_file_is_hashed_and_found_clean(repository: Path, commit_files: CommitFiles) -> None:
    commit_files(repository, {"a": b"one\n"})
    os.utime(repository / "a", (2_000_000_000, 2_000_000_000))
    assert not state_of(repository).dirty


def test_a_change_within_the_moment_of_the_index_and_of_the_same_length_is_seen(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"one\n"})
    before = (repository / "a").stat()
    (repository / "a").write_bytes(b"two\n")
    # The index is as old as the file, so the status may lie.
    os.utime(repository / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(repository / ".git" / "index", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kinds(state_of(repository)) == {b"a": "modified"}


def test_files_older_than_the_index_are_not_read(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {f"{number}": b"x" * 1000 for number in range(20)})
    make_old(repository)
    git(repository, "update-index", "--refresh")
    assert not state_of(repository, limits=StateLimits(hashed_bytes=0)).dirty


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(
    repository: Path, git: Git, commit_files: CommitFiles, version: str
) -> None:
    git(repository, "config", "index.version", version)
    commit_files(repository, {f"dir/file-{number:03}.md": b"%d\n" % number for number in range(300)})
    git(repository, "update-index", "--index-version", version)
    if version == "3":  # written only where an entry needs it
        (repository / "later").write_bytes(b"x\n")
        git(repository, "add", "--intent-to-add", "later")
    assert (repository / ".git" / "index").read_bytes()[7] == int(version)
    (repository / "dir/file-007.md").write_bytes(b"other\n")
    found = kinds(state_of(repository))
    assert found.pop(b"later", "added") == "added"
    assert found == {b"dir/file-007.md": "modified"}


def test_a_split_index_is_put_together(repository: Path, git: Git, commit_files: CommitFiles) -> None:
    commit_files(repository, {f"file-{number:03}": b"%d\n" % number for number in range(200)})
    git(repository, "config", "splitIndex.maxPercentChange", "100")
    git(repository, "update-index", "--split-index")
    (repository / "file-005").write_bytes(b"staged\n")
    (repository / "file-500").write_bytes(b"new\n")
    git(repository, "add", "file-005", "file-500")
    git(repository, "rm", "--quiet", "file-100", "file-101")
    (repository / "file-006").write_bytes(b"unstaged\n")
    assert len(list((repository / ".git").glob("sharedindex.*"))) == 1
    assert set(kinds(state_of(repository))) == said_by_git(git, repository)
    listed = [line.split(b"\t")[1] for line in git(repository, "ls-files", "--stage").splitlines()]
    index = read_index(str(repository / ".git"), Repository.open(repository).object_format)
    assert [entry.path for entry in index.entries] == listed


@pytest.mark.parametrize("sparse_index", [False, True])
def test_a_sparse_checkout_is_clean(
    repository: Path, git: Git, commit_files: CommitFiles, sparse_index: bool
) -> None:
    commit_files(repository, {"kept/a": b"a\n", "left/out/b": b"b\n", "left/c": b"c\n", "top": b"t\n"})
    git(repository, "sparse-checkout", "init", "--cone", *(["--sparse-index"] if sparse_index else []))
    git(repository, "sparse-checkout", "set", "kept")
    assert not (repository / "left").exists()
    assert not state_of(repository).dirty
    (repository / "kept/a").write_bytes(b"other\n")
    (repository / "left").mkdir()
    (repository / "left" / "new").write_bytes(b"n\n")
    assert set(kinds(state_of(repository))) == said_by_git(git, repository) == {b"kept/a", b"left/new"}


def test_a_promise_that_a_file_does_not_change_is_kept_apart(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"one\n", "b": b"one\n"})
    git(repository, "update-index", "--assume-unchanged", "a", "b")
    (repository / "a").write_bytes(b"two\n")
    state = state_of(repository)
    assert not state.dirty
    assert state.assume_unchanged == (b"a",)


@posix_modes
def test_the_executable_bit_counts_unless_the_repository_says_otherwise(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"one\n"})
    git(repository, "config", "core.fileMode", "true")
    (repository / "a").chmod(0o755)
    assert kinds(state_of(repository)) == {b"a": "modified"}
    git(repository, "config", "core.fileMode", "false")
    assert not state_of(repository).dirty


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_are_compared_by_their_target_and_never_followed(
    repository: Path, git: Git, commit_files: CommitFiles, tmp_path: Path
) -> None:
    (repository / "link").symlink_to("target")
    commit_files(repository, {"dir/a": b"a\n"})
    assert not state_of(repository).dirty
    (repository / "link").unlink()
    (repository / "link").symlink_to("other")
    shutil.move(repository / "dir", tmp_path / "elsewhere")
    (repository / "dir").symlink_to(tmp_path / "elsewhere")
    assert kinds(state_of(repository)) == {b"link": "modified", b"dir/a": "deleted", b"dir": "untracked"}
    assert said_by_git(git, repository) == {b"link", b"dir/a", b"dir"}


LINE_ENDS = [
    # attributes, core.autocrlf, committed, in the work tree, differs
    ("", None, b"a\n", b"a\r\n", True),
    ("", b"true", b"a\nb\n", b"a\r\nb\r\n", False),
    ("", b"input", b"a\nb\n", b"a\r\nb\n", False),
    ("", b"true", b"a\n", b"b\r\n", True),
    ("* text", None, b"a\n", b"a\r\n", False),
    ("* -text", b"true", b"a\n", b"a\r\n", True),
    ("* binary", b"true", b"a\n", b"a\r\n", True),
    ("* eol=crlf", None, b"a\n", b"a\r\n", False),
    ("* text=auto", None, b"a\n\0\n", b"a\r\n\0\r\n", True),
    ("* text=auto", None, b"a\n", b"a\r\n", False),
    ("* crlf", None, b"a\n", b"a\r\n", False),
]


@pytest.mark.parametrize("case", range(len(LINE_ENDS)))
def test_line_ends_are_compared_by_gits_rules(
    sha1_repository: Path, git: Git, commit_files: CommitFiles, case: int
) -> None:
    attributes, autocrlf, committed, present, differs = LINE_ENDS[case]
    commit_files(sha1_repository, {"a": committed, ".gitattributes": attributes.encode() + b"\n"})
    if autocrlf is not None:
        git(sha1_repository, "config", "core.autocrlf", autocrlf.decode())
    (sha1_repository / "a").write_bytes(present)
    assert state_of(sha1_repository).dirty is differs
    assert (b"a" in said_by_git(git, sha1_repository)) is differs


def test_line_ends_that_the_user_has_converted_make_nothing_dirty(
    sha1_repository: Path, commit_files: CommitFiles, tmp_path: Path, git: Git
) -> None:
    commit_files(sha1_repository, {"a": b"a\nb\n"})
    git(sha1_repository, "config", "--unset", "core.autocrlf")
    (sha1_repository / "a").write_bytes(b"a\r\nb\r\n")
    assert state_of(sha1_repository).dirty
    (tmp_path / "gitconfig").write_text("[core]\n\tautocrlf = true\n", encoding="utf-8")
    user = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    assert not state_of(sha1_repository, environ=user).dirty


def test_what_the_user_ignores_everywhere_makes_nothing_dirty(
    sha1_repository: Path, commit_files: CommitFiles, tmp_path: Path
) -> None:
    commit_files(sha1_repository, {"a": b"a\n", ".gitignore": b"*.log\n"})
    for name in (".DS_Store", "x.log", "real"):
        (sha1_repository / name).write_bytes(b"x")
    assert set(kinds(state_of(sha1_repository))) == {b".DS_Store", b"real"}
    (tmp_path / "ignore me").write_text(".DS_Store\n", encoding="utf-8")
    (tmp_path / "gitconfig").write_text("[core]\n\texcludesFile = ~/ignore me\n", encoding="utf-8")
    named = {
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(tmp_path),
    }
    assert set(kinds(state_of(sha1_repository, environ=named))) == {b"real"}
    usual = {"GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    (tmp_path / "xdg" / "git").mkdir(parents=True)
    (tmp_path / "xdg" / "git" / "ignore").write_text(".DS_Store\n", encoding="utf-8")
    assert set(kinds(state_of(sha1_repository, environ=usual))) == {b"real"}


def test_a_file_under_a_filter_is_clean_by_its_status_and_otherwise_undecided(
    repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"one\n", ".gitattributes": b"a filter=upper\n"})
    make_old(repository)
    git(repository, "update-index", "--refresh")
    assert state_of(repository) == WorkTreeState(())
    (repository / "a").write_bytes(b"ONE\n")
    state = state_of(repository)
    assert kinds(state) == {b"a": "undecided"}
    assert [warning.kind for warning in state.warnings] == ["filtered"]


def test_a_submodule_counts_by_its_commit_and_by_its_own_work_tree(
    tmp_path: Path, sha1_repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", "-b", "main", str(other))
    git(other, "config", "core.autocrlf", "false")
    commit_files(other, {"inner": b"1\n"})
    git(sha1_repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    commit_files(sha1_repository, {"a": b"a\n"})
    assert not state_of(sha1_repository).dirty
    (sha1_repository / "sub" / "inner").write_bytes(b"2\n")
    assert kinds(state_of(sha1_repository)) == {b"sub": "submodule"}
    commit_files(sha1_repository / "sub", {"inner": b"3\n"})
    assert kinds(state_of(sha1_repository)) == {b"sub": "submodule"}
    shutil.rmtree(sha1_repository / "sub")
    (sha1_repository / "sub").mkdir()
    assert not state_of(sha1_repository).dirty  # known, but not checked out


def test_a_conflict_is_a_change(repository: Path, git: Git, commit_files: CommitFiles) -> None:
    commit_files(repository, {"a": b"base\n"})
    git(repository, "checkout", "--quiet", "-b", "side")
    commit_files(repository, {"a": b"side\n"})
    git(repository, "checkout", "--quiet", "main")
    commit_files(repository, {"a": b"main\n"})
    git(repository, "merge", "--quiet", "side", check=False)
    assert kinds(state_of(repository)) == {b"a": "conflicted"}


@pytest.mark.parametrize("damage", ["truncated", "version", "extension", "empty", "noise"])
def test_an_index_that_cannot_be_understood_makes_the_work_tree_dirty(
    repository: Path, commit_files: CommitFiles, damage: str
) -> None:
    commit_files(repository, {f"file{number}": b"x\n" for number in range(10)})
    path = repository / ".git" / "index"
    data = path.read_bytes()
    digest = 20 if Repository.open(repository).object_format == "sha1" else 32
    path.write_bytes(
        {
            "truncated": data[: len(data) // 3],
            "version": data[:7] + b"\x09" + data[8:],
            "extension": data[:-digest] + b"zzzz\0\0\0\0" + data[-digest:],
            "empty": b"",
            "noise": random.Random(1).randbytes(400),
        }[damage]
    )
    state = state_of(repository)
    assert (state.dirty, state.complete) == (True, False)
    assert [warning.kind for warning in state.warnings] == ["index"]


def test_no_damage_to_an_index_does_more_than_make_it_unreadable(
    sha1_repository: Path, commit_files: CommitFiles, git: Git
) -> None:
    commit_files(sha1_repository, {f"file{number}": b"x\n" for number in range(10)})
    git(sha1_repository, "update-index", "--split-index")
    commit_files(sha1_repository, {"file3": b"y\n"})
    path = sha1_repository / ".git" / "index"
    data = path.read_bytes()
    chance = random.Random(7)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randrange(len(damaged))] if chance.random() < 0.3 else damaged)
        try:
            read_index(str(path.parent), "sha1")
        except IndexUnreadable:
            continue


def test_a_work_tree_beyond_the_limits_counts_as_dirty(repository: Path, commit_files: CommitFiles) -> None:
    commit_files(repository, {f"file{number}": b"x\n" for number in range(10)})
    for limits in (StateLimits(hashed_bytes=5), StateLimits(seconds=0.0)):
        for number in range(10):
            os.utime(repository / f"file{number}", (2_000_000_000, 2_000_000_000))
        state = state_of(repository, limits=limits)
        assert (state.dirty, state.complete) == (True, False)
        assert [warning.kind for warning in state.warnings] == ["limits"]


def test_time_is_looked_at_while_files_are_compared(repository: Path, commit_files: CommitFiles) -> None:
    commit_files(repository, {f"file{number}": b"x\n" for number in range(400)})
    ticks = iter(range(10**6))
    state = state_of(repository, limits=StateLimits(seconds=8), clock=lambda: float(next(ticks)))
    assert not state.complete


def test_more_untracked_files_than_can_be_listed_count_as_dirty(
    repository: Path, commit_files: CommitFiles
) -> None:
    commit_files(repository, {"a": b"a\n"})
    for number in range(30):
        (repository / f"untracked-{number}").write_bytes(b"")
    state = state_of(repository, limits=StateLimits(untracked_bytes=100))
    assert (state.dirty, state.complete) == (True, False)
    assert [warning.kind for warning in state.warnings] == ["untracked_unknown"]


def test_a_bare_repository_has_no_work_tree(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "bare"))
    with pytest.raises(GitError) as caught:
        read_work_tree_state(Repository.open(tmp_path / "bare", bare=True), environ=NOBODY)
    assert caught.value.kind == "bare_repository"


def test_a_linked_worktree_has_its_own_state(
    repository: Path, git: Git, commit_files: CommitFiles, tmp_path: Path
) -> None:
    commit_files(repository, {"a": b"a\n"})
    git(repository, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked" / "a").write_bytes(b"b\n")
    assert kinds(state_of(tmp_path / "linked")) == {b"a": "modified"}
    assert not state_of(repository).dirty


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="file names there are Unicode")
def test_names_need_not_be_utf8(repository: Path, git: Git) -> None:
    name = os.fsencode(repository) + b"/\xff\xfe name"
    with open(name, "wb") as file:
        file.write(b"x\n")
    assert kinds(state_of(repository)) == {b"\xff\xfe name": "untracked"}
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "x")
    assert not state_of(repository).dirty
    with open(name, "wb") as file:
        file.write(b"y\n")
    assert kinds(state_of(repository)) == {b"\xff\xfe name": "modified"}


def _random_content(chance: random.Random) -> bytes:
    lines = chance.choice([b"\n", b"\r\n"]).join(
        b"line %d" % chance.randrange(5) for _ in range(chance.randrange(6))
    )
    return lines + chance.choice([b"", b"\n", b"\r\n", b"\0", b"\r"])


def _stir(chance: random.Random, path: Path, git: Git, commit_files: CommitFiles) -> None:
    """Do one random thing to a repository that anybody may do."""
    names = ["a", "b.md", "dir/c", "dir/d.log", "dir/deep/e", "f g", "ü"]
    target = path / chance.choice(names)
    action = chance.randrange(11)
    if action <= 2:
        if target.parent.exists() and not target.parent.is_dir():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            target.unlink(missing_ok=True)
            target.write_bytes(_random_content(chance))
    elif action == 3 and target.is_file():
        target.unlink()
    elif action == 4 and target.is_file() and os.name != "nt":
        target.chmod(target.stat().st_mode ^ stat.S_IXUSR)
    elif action == 5:
        git(path, "add", "--all")
    elif action == 6:
        git(path, "commit", "--quiet", "--allow-empty", "-m", "more")
    elif action == 7:
        patterns = chance.sample([b"*.log", b"dir/deep/", b"!dir/d.log", b"/a", b"**/c"], 2)
        (path / ".gitignore").write_bytes(b"\n".join(patterns) + b"\n")
    elif action == 8:
        rule = chance.choice([b"* text=auto", b"*.md text", b"* -text", b"*.log binary", b"dir/** eol=lf"])
        (path / ".gitattributes").write_bytes(rule + b"\n")
        # git sees that attributes changed only where it looks into a file, which then depends on the second.
        for name in names:
            if (path / name).is_file():
                os.utime(path / name, (chance.randrange(1_000_000_000, 2_000_000_000),) * 2)
    elif action == 9 and target.is_file():
        os.utime(target, (chance.randrange(1_000_000_000, 2_000_000_000),) * 2)
    elif action == 10:
        git(
            path,
            "rm",
            "--cached",
            "--force",
            "--quiet",
            "--ignore-unmatch",
            "--",
            str(target.relative_to(path)),
        )


def _compare_with_git(seed: int, path: Path, git: Git, commit_files: CommitFiles) -> None:
    chance = random.Random(seed)
    git(path, "config", "core.autocrlf", chance.choice(["false", "true", "input"]))
    git(path, "config", "core.safecrlf", "false")
    git(path, "commit", "--quiet", "--allow-empty", "-m", "first")
    for step in range(chance.randint(5, 25)):
        _stir(chance, path, git, commit_files)
        if step % 4 == 3:
            found = kinds(state_of(path))
            assert set(found) == said_by_git(git, path), (seed, step, found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_on_random_repositories_git_says_the_same(
    seed: int, sha1_repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    _compare_with_git(seed, sha1_repository, git, commit_files)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_on_many_random_repositories_git_says_the_same(
    seed: int, sha1_repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    _compare_with_git(seed, sha1_repository, git, commit_files)


@posix_scripts
def test_no_program_of_the_repository_runs(
    tmp_path: Path, sha1_repository: Path, git: Git, commit_files: CommitFiles
) -> None:
    path, marker = sha1_repository, tmp_path / "ran"
    inner = path / "sub"
    inner.mkdir()
    git(path, "init", "--quiet", "-b", "main", str(inner))
    commit_files(inner, {"x": b"x\n"})
    commit_files(
        path,
        {
            "a": b"a\n", "b": b"b\n", "c": b"c\n",
            ".gitattributes": b"a filter=evil diff=evil\nb text=auto filter=proc ident\nc text eol=crlf\n",
        },
    )  # fmt: skip
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("fsmonitor-watchman", "post-index-change", "query-watchman", "reference-transaction"):
        shutil.copy(program, hooks / name)
    for place in (path, inner):
        for key, value in {
            "core.fsmonitor": str(program),
            "core.hooksPath": str(hooks),
            "core.pager": str(program),
            "core.sshCommand": str(program),
            "core.alternateRefsCommand": str(program),
            "diff.external": str(program),
            "diff.evil.textconv": str(program),
            "filter.evil.clean": str(program),
            "filter.evil.smudge": str(program),
            "filter.evil.required": "true",
            "filter.proc.process": str(program),
            "alias.ls-files": f"!{program}",
            "alias.check-attr": f"!{program}",
            "alias.config": f"!{program}",
            "trace2.eventTarget": str(marker),
        }.items():
            git(place, "config", key, value)
        git(place, "config", "core.untrackedCache", "true")
    user = tmp_path / "gitconfig"
    user.write_text(
        f"[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[alias]\n\tconfig = !{program}\n",
        encoding="utf-8",
    )
    for name in ("a", "b", "c", "sub/x"):
        (path / name).write_bytes(b"changed\r\n")
    git(path, "status", check=False)
    assert marker.exists(), "the traps work"
    marker.unlink()
    environ = {"GIT_CONFIG_GLOBAL": str(user), "GIT_CONFIG_NOSYSTEM": "1"}
    state = read_work_tree_state(Repository.open(path), environ=environ)
    assert kinds(state) == {b"a": "undecided", b"b": "undecided", b"c": "modified", b"sub": "submodule"}
    assert not marker.exists()


def test_nothing_is_written(repository: Path, commit_files: CommitFiles) -> None:
    def snapshot() -> dict[str, tuple[int, int, bytes]]:
        return {
            str(file): (file.stat().st_mtime_ns, file.stat().st_mode, file.read_bytes())
            for file in repository.rglob("*")
            if file.is_file()
        }

    commit_files(repository, {"a": b"a\n", "b": b"b\n"})
    os.utime(repository / "a", (2_000_000_000, 2_000_000_000))
    (repository / "b").write_bytes(b"other\r\n")
    before = snapshot()
    state_of(repository)
    assert snapshot() == before
