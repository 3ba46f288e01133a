"""Repositories in states that git allows and people leave behind: each is indexed exactly, or refused with a code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import open_repository, work_tree_root

Bench = Any
Make = Callable[[str], Bench]


def note(word: str) -> str:
    return f"# Note\n\nThe {word} stands in the yard.\n"


def text(word: str) -> str:
    return f"The {word} stands in the yard."


def failure(call: Callable[[], object]) -> RagitError:
    with pytest.raises(RagitError) as caught:
        call()
    return caught.value


def code_of(call: Callable[[], object]) -> str | None:
    """The code of the error that a call ends with; None if it succeeds."""
    try:
        call()
    except RagitError as error:
        return error.code
    return None


@pytest.fixture
def bench(workbench: Bench) -> Bench:
    """A repository with one indexed commit."""
    workbench.commit({"docs/one.md": note("anvil")})
    workbench.ingest()
    return workbench


def clone(bench: Bench, make: Make, name: str, *options: str) -> Bench:
    """A clone of the repository, its files as the clone's protocol brings them."""
    copy = make(name)
    shutil.rmtree(copy.path)
    bench.git("clone", "--quiet", *options, bench.path.as_uri(), str(copy.path), cwd=bench.path.parent)
    return copy


def test_a_rebase_that_stopped_indexes_the_commit_it_stands_on(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "-b", "side")
    bench.commit({"docs/one.md": note("bellows")})
    bench.git("checkout", "--quiet", "main")
    bench.commit({"docs/one.md": note("chisel")})
    bench.git("checkout", "--quiet", "side")
    bench.git("rebase", "--quiet", "main", check=False)
    assert (bench.path / ".git" / "rebase-merge").is_dir()
    assert "<<<<<<<" in (bench.path / "docs/one.md").read_text(encoding="utf-8")
    result = bench.ingest()
    assert bench.texts() == [text("chisel")]
    assert result.dirty_candidates == ["docs/one.md"]
    assert bench.select().info.detached


def test_a_merge_with_conflicts_indexes_the_commit_it_stands_on(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "-b", "side")
    bench.commit({"docs/one.md": note("bellows")})
    bench.git("checkout", "--quiet", "main")
    bench.commit({"docs/one.md": note("chisel")})
    bench.git("merge", "--quiet", "side", check=False)
    bench.ingest()
    assert bench.texts() == [text("chisel")]
    assert bench.select().info.worktree_dirty


def test_a_sparse_checkout_is_indexed_whole_and_is_clean(bench: Bench) -> None:
    bench.commit({
        "docs/one.md": note("anvil"),
        "docs/deep/two.md": note("bellows"),
        ".ragit/.gitignore": "*\n",
    })
    bench.git("sparse-checkout", "set", "--no-cone", "/docs/one.md", "/.ragit/")
    assert not (bench.path / "docs/deep").exists()
    result = bench.ingest()
    assert bench.texts() == [text("bellows"), text("anvil")]
    assert result.dirty_candidates == []


def test_a_submodule_is_counted_and_never_entered(bench: Bench, make_workbench: Make) -> None:
    inner = make_workbench("inner")
    inner.commit({"docs/inner.md": note("chisel")})
    bench.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "docs/inner"
    )
    bench.commit({})
    result = bench.ingest()
    assert bench.texts() == [text("anvil")]
    assert not any("chisel" in passage for passage in bench.texts())
    assert result.processed == 1


def test_a_submodule_has_an_index_of_its_own(bench: Bench, make_workbench: Make) -> None:
    inner = make_workbench("inner")
    inner.commit({"docs/inner.md": note("chisel")})
    bench.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "docs/inner"
    )
    bench.commit({})
    module = make_workbench("module")
    module.path = bench.path / "docs" / "inner"
    assert (module.path / ".git").is_file()
    module.ingest()
    assert module.texts() == [text("chisel")]
    assert (module.path / ".ragit").is_dir()


def test_objects_that_lie_in_another_repository_are_read(bench: Bench, make_workbench: Make) -> None:
    copy = make_workbench("copy")
    shutil.rmtree(copy.path)
    bench.git("clone", "--quiet", "--shared", str(bench.path), str(copy.path), cwd=bench.path.parent)
    assert (copy.path / ".git/objects/info/alternates").exists()
    copy.ingest()
    assert copy.texts() == [text("anvil")]


def test_objects_whose_repository_is_gone_are_a_refusal(bench: Bench, make_workbench: Make) -> None:
    copy = make_workbench("copy")
    shutil.rmtree(copy.path)
    bench.git("clone", "--quiet", "--shared", str(bench.path), str(copy.path), cwd=bench.path.parent)
    os.rename(bench.path, bench.path.with_name("moved"))
    assert failure(copy.ingest).code == "REPOSITORY_UNUSABLE"
    assert not (copy.path / ".ragit/manifest").exists()


def test_a_document_that_a_partial_clone_has_not_fetched_is_skipped_and_said(
    bench: Bench, make_workbench: Make
) -> None:
    bench.git("config", "uploadpack.allowFilter", "true")
    bench.commit({"docs/one.md": note("anvil"), "docs/two.md": note("bellows")})
    copy = clone(bench, make_workbench, "partial", "--filter=blob:none", "--no-checkout")
    copy.git("checkout", "--quiet", "HEAD", "--", "docs/one.md")
    result = copy.ingest()
    assert copy.texts() == [text("anvil")]
    assert (result.processed, result.skipped) == (1, 1)
    assert any("docs/two.md" in warning for warning in result.warnings)


def test_a_shallow_clone_is_indexed_and_its_missing_history_is_no_base(
    bench: Bench, make_workbench: Make
) -> None:
    first = bench.git("rev-parse", "HEAD")
    bench.commit({"docs/one.md": note("bellows")})
    copy = clone(bench, make_workbench, "shallow", "--depth=1")
    copy.ingest()
    assert copy.texts() == [text("bellows")]
    assert failure(lambda: copy.ingest(mode="since", since=first)).code == "SNAPSHOT_REF_INVALID"


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_linked_work_tree_reads_its_own_head(make_workbench: Make, object_format: str) -> None:
    bench = make_workbench(f"main-{object_format}")
    bench.commit({"docs/one.md": note("anvil")})
    bench.ingest()
    linked = make_workbench(f"linked-{object_format}")
    shutil.rmtree(linked.path)
    bench.git("worktree", "add", "--quiet", "-b", "side", str(linked.path))
    linked.commit({"docs/one.md": note("bellows")})
    assert failure(linked.texts).code == "SNAPSHOT_NOT_INDEXED"
    linked.ingest()
    assert (linked.texts(), bench.texts()) == ([text("bellows")], [text("anvil")])


def test_replaced_objects_do_not_replace_what_a_commit_says(bench: Bench) -> None:
    original = bench.git("rev-parse", "HEAD:docs/one.md")
    forged = bench.git("hash-object", "-w", "--stdin", data=note("forgery").encode())
    bench.git("replace", original, forged)
    shutil.rmtree(bench.path / ".ragit")
    bench.ingest()
    assert bench.texts() == [text("anvil")]


def test_grafted_history_makes_no_ancestor(bench: Bench) -> None:
    first = bench.git("rev-parse", "HEAD")
    tree = bench.git("rev-parse", "HEAD^{tree}")
    orphan = bench.git("commit-tree", tree, "-m", "orphan")
    bench.git("reset", "--quiet", "--hard", orphan)
    bench.git("replace", "--graft", orphan, first)
    assert failure(lambda: bench.ingest(mode="since", since=first)).code == "INGEST_BASE_NOT_ANCESTOR"


@pytest.mark.parametrize("place", ["index.lock", "HEAD.lock", "MERGE_HEAD", "BISECT_LOG", "shallow.lock"])
def test_what_another_program_left_in_git_is_no_obstacle(bench: Bench, place: str) -> None:
    (bench.path / ".git" / place).write_text("", encoding="utf-8")
    bench.ingest()
    assert bench.texts() == [text("anvil")]


@pytest.mark.parametrize("damage", ["index", "packed-refs", "config", "HEAD"])
def test_damage_in_git_is_a_code_and_never_half_an_index(bench: Bench, damage: str) -> None:
    bench.commit({"docs/one.md": note("bellows")})
    bench.git("pack-refs", "--all")
    (bench.path / ".git" / damage).write_bytes(b"\0garbage\xff\n")
    manifests = sorted((bench.path / ".ragit/manifest").iterdir())
    code = code_of(bench.ingest)
    if damage == "index":
        # The object database has everything; only the look at the work tree needs the index.
        assert code is None
        assert bench.texts() == [text("bellows")]
    else:
        # Without its packed references a branch looks like one that has no commit yet.
        assert code == ("SNAPSHOT_NOT_INDEXED" if damage == "packed-refs" else "REPOSITORY_UNUSABLE")
        assert sorted((bench.path / ".ragit/manifest").iterdir()) == manifests


def test_a_damaged_object_is_a_code_and_the_older_index_stays(bench: Bench) -> None:
    first = bench.git("rev-parse", "HEAD")
    bench.commit({"docs/two.md": note("bellows")})
    blob = bench.git("rev-parse", "HEAD:docs/two.md")
    path = bench.path / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-6])
    assert code_of(bench.ingest) in {None, "REPOSITORY_UNUSABLE"}
    assert code_of(bench.texts) == "SNAPSHOT_NOT_INDEXED" or bench.texts() == [text("anvil")]
    assert bench.texts(first) == [text("anvil")]


def test_a_directory_inside_git_is_refused(bench: Bench) -> None:
    inside = Path(bench.path) / ".git" / "objects"
    assert failure(lambda: work_tree_root(open_repository(inside))).code == "REPOSITORY_UNUSABLE"


def test_a_branch_without_ragit_does_not_get_the_index_committed(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "-b", "with-ragit")
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "-m", "ragit")
    assert ".ragit/.gitignore" in bench.git("ls-files").splitlines()
    bench.git("checkout", "--quiet", "main")
    assert not (bench.path / ".ragit/.gitignore").exists()
    bench.git("add", "--all")
    assert [path for path in bench.git("ls-files").splitlines() if path.startswith(".ragit/")] == []
    assert bench.texts() == [text("anvil")]
