"""Which commit is read, in real repositories; the recorded vectors say the same through the command line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import inspect_snapshot, open_repository, select_snapshot

Bench = Any


def failure(call: Callable[[], object]) -> RagitError:
    with pytest.raises(RagitError) as caught:
        call()
    return caught.value


def once(call: Callable[[], object]) -> Callable[[], None]:
    """The call, the first time; nothing afterwards."""
    calls = iter([call])

    def run() -> None:
        for waiting in calls:
            waiting()
            break

    return run


def note(word: str) -> dict[str, str]:
    return {"docs/one.md": f"# Note\n\nThe {word} stands in the yard.\n"}


@pytest.fixture
def bench(workbench: Bench) -> Bench:
    workbench.commit(note("anvil"))
    return workbench


def test_head_is_read_exactly(bench: Bench) -> None:
    commit = bench.git("rev-parse", "HEAD")
    bench.ingest()
    bench.commit()  # .ragit/.gitignore is new
    bench.ingest()
    selection = bench.select()
    assert selection.info.to_json() == {
        "requestedRef": "HEAD",
        "resolvedSha": bench.git("rev-parse", "HEAD"),
        "selection": "head-exact",
        "status": "indexed",
        "branch": "main",
        "detached": False,
        "worktreeDirty": False,
    }
    assert selection.warnings == ()
    older = bench.select(commit[:8].upper())
    assert (older.commit, older.info.selection, older.info.requested_ref) == (
        commit, "explicit-exact", commit[:8].upper(),
    )  # fmt: skip


def test_another_commits_manifest_is_only_hinted_at(bench: Bench) -> None:
    first = bench.git("rev-parse", "HEAD")
    bench.ingest()
    second = bench.commit(note("bellows"))
    error = failure(bench.select)
    assert error.code == "SNAPSHOT_NOT_INDEXED"
    assert error.details == {
        "resolvedSha": second,
        "manifestPath": f".ragit/manifest/{second}.json",
        "nearestIndexedAncestor": first,
    }
    assert error.recovery == f"ragit ingest --since {first}"


def test_a_branch_that_is_no_ancestor_is_not_hinted_at(bench: Bench) -> None:
    bench.git("checkout", "--quiet", "-b", "side")
    bench.commit(note("side"))
    bench.ingest()
    bench.git("checkout", "--quiet", "main")
    bench.commit(note("main"))
    error = failure(bench.select)
    assert (error.code, error.recovery) == ("SNAPSHOT_NOT_INDEXED", "ragit ingest --all")
    assert "nearestIndexedAncestor" not in error.details


def test_a_head_that_moves_once_is_followed(bench: Bench) -> None:
    first = bench.git("rev-parse", "HEAD")
    bench.ingest()
    second = bench.commit(note("bellows"))
    bench.ingest()
    bench.git("checkout", "--quiet", first)
    selection = bench.select(before_recheck=once(lambda: bench.git("checkout", "--quiet", "main")))
    assert (selection.commit, selection.info.branch) == (second, "main")


def test_an_error_found_before_head_moved_is_forgotten(bench: Bench) -> None:
    bench.ingest()
    indexed = bench.git("rev-parse", "HEAD")
    bench.commit(note("not indexed"))
    move = once(lambda: bench.git("reset", "--quiet", "--hard", indexed))
    assert bench.select(before_recheck=move).commit == indexed


def test_a_head_that_does_not_rest_is_told(bench: Bench) -> None:
    bench.ingest()
    error = failure(lambda: bench.select(before_recheck=bench.commit))
    assert (error.code, error.retryable) == ("REPOSITORY_STATE_CHANGED", True)


def test_a_named_commit_does_not_care_where_head_moves(bench: Bench) -> None:
    commit = bench.git("rev-parse", "HEAD")
    bench.ingest()
    assert bench.select("HEAD", before_recheck=bench.commit).commit == commit


@pytest.mark.parametrize(
    "reference", ["main", "HEAD~1", "abc", "", "abcg", "-x", "a" * 41, "HEAD ", "refs/heads/main"]
)
def test_what_is_no_id_is_refused(bench: Bench, reference: str) -> None:
    error = failure(lambda: bench.select(reference))
    assert (error.code, error.details) == ("SNAPSHOT_REF_INVALID", {"ref": reference})


def test_ids_of_other_objects_and_of_none_are_refused(bench: Bench) -> None:
    bench.git("tag", "-a", "-m", "x", "v1")
    for name in ("HEAD^{tree}", "v1^{tag}", "HEAD:docs/one.md"):
        identity = bench.git("rev-parse", name)
        assert failure(lambda: bench.select(identity)).code == "SNAPSHOT_REF_INVALID"  # noqa: B023
    assert failure(lambda: bench.select("0" * 40)).code == "SNAPSHOT_REF_INVALID"


def test_a_prefix_of_several_commits_is_ambiguous(bench: Bench) -> None:
    import hashlib

    tree = bench.git("rev-parse", "HEAD^{tree}")
    seen: dict[str, bytes] = {}
    identity = ""
    for number in range(3000):
        body = f"tree {tree}\nauthor A <a@b> {number} +0000\ncommitter A <a@b> 1 +0000\n\nx\n".encode()
        identity = hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()
        if identity[:4] in seen:
            for content in (seen[identity[:4]], body):
                bench.git("hash-object", "-w", "-t", "commit", "--stdin", data=content)
            break
        seen[identity[:4]] = body
    error = failure(lambda: bench.select(identity[:4].upper()))
    assert error.code == "SNAPSHOT_REF_AMBIGUOUS"
    assert identity in error.details["matches"]
    assert error.recovery == f"git rev-parse --disambiguate={identity[:4]}"


def test_a_repository_without_commit_has_nothing_to_read(workbench: Bench) -> None:
    error = failure(workbench.select)
    assert (error.code, error.details, error.recovery) == (
        "SNAPSHOT_NOT_INDEXED", {"resolvedSha": None}, "git status",
    )  # fmt: skip
    assert failure(lambda: workbench.select("HEAD")).code == "SNAPSHOT_REF_INVALID"
    assert not (workbench.path / ".ragit").exists()


def test_changes_that_are_not_committed_give_a_warning(bench: Bench) -> None:
    bench.ingest()
    bench.write(note("zinnia"))
    selection = bench.select()
    assert selection.info.worktree_dirty
    assert len(selection.warnings) == 1
    assert bench.texts() == ["The anvil stands in the yard."]


def test_a_detached_head_has_no_branch(bench: Bench) -> None:
    bench.ingest()
    bench.git("checkout", "--quiet", "--detach")
    info = bench.select().info
    assert (info.branch, info.detached) == (None, True)


def test_a_linked_worktree_has_an_index_of_its_own(bench: Bench, tmp_path: Path) -> None:
    bench.ingest()
    bench.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    linked = open_repository(tmp_path / "linked" / "docs")
    assert failure(lambda: select_snapshot(linked)).code == "SNAPSHOT_NOT_INDEXED"


def test_a_shallow_clone_is_read(bench: Bench, tmp_path: Path) -> None:
    bench.commit(note("bellows"))
    bench.git(
        "-c",
        "protocol.file.allow=always",
        "clone",
        "--quiet",
        "--depth",
        "1",
        f"file://{bench.path}",
        str(tmp_path / "shallow"),
    )
    clone = type(bench)(tmp_path / "shallow")
    clone.ingest()
    assert clone.texts() == ["The bellows stands in the yard."]


def test_a_sha256_repository_is_read(make_workbench: Callable[[str], Bench]) -> None:
    bench = make_workbench("sha256")
    commit = bench.commit(note("anvil"))
    bench.ingest()
    assert len(commit) == 64
    assert bench.texts(commit) == bench.texts(commit[:50]) == bench.texts()


def test_a_bare_repository_and_no_repository_are_told(
    make_workbench: Callable[[str], Bench], tmp_path: Path
) -> None:
    bench = make_workbench("plain")
    bench.git("init", "--quiet", "--bare", str(tmp_path / "bare"))
    (tmp_path / "nothing").mkdir()
    assert failure(lambda: open_repository(tmp_path / "bare")).details == {"reason": "bare_repository"}
    error = failure(lambda: open_repository(tmp_path / "nothing"))
    assert (error.code, error.exit_code) == ("REPOSITORY_UNUSABLE", 1)


@pytest.mark.parametrize(
    "place", [".ragit/store/meta.json", ".ragit/manifest/x.json", ".ragit/cache/x", ".RAGIT/Store/meta.json"]
)
def test_an_index_that_a_checkout_brings_is_refused(bench: Bench, place: str) -> None:
    bench.ingest()
    bench.write({place: "forged"})
    bench.git("add", "--force", place)
    bench.git("commit", "--quiet", "-m", "forged")
    for call in (bench.select, bench.ingest, lambda: bench.ingest(dry_run=True)):
        error = failure(call)
        assert (error.code, error.details["reason"]) == ("SNAPSHOT_STORE_UNAVAILABLE", "tracked")
        assert error.recovery.startswith("git rm -r --cached")


def test_a_tracked_configuration_is_welcome(bench: Bench) -> None:
    bench.ingest()
    bench.commit({".ragit/config.toml": "[retrieval]\ntop_k = 7\n"})
    bench.ingest()
    assert bench.select().info.status == "indexed"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("place", [".ragit", ".ragit/store", ".ragit/manifest", ".ragit/runtime"])
def test_nothing_is_read_or_written_through_a_link(bench: Bench, place: str, tmp_path: Path) -> None:
    bench.ingest()
    outside = tmp_path / "outside"
    shutil.move(bench.path / place, outside)
    (bench.path / place).symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    bench.commit(note("bellows"))
    bench.git("rm", "--cached", "--quiet", "--ignore-unmatch", "-r", ".ragit")
    bench.git("commit", "--quiet", "--allow-empty", "-m", "untracked")
    for call in (bench.select, bench.ingest):
        error = failure(call)
        assert (error.code, error.details["reason"]) == ("SNAPSHOT_STORE_UNAVAILABLE", "link")
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_inspecting_says_what_is_wrong_and_never_fails_for_it(bench: Bench) -> None:
    def status() -> tuple[str, str | None]:
        found = inspect_snapshot(open_repository(bench.path))
        return found.info.status, found.error.code if found.error is not None else None

    assert status() == ("missing", "SNAPSHOT_NOT_INDEXED")
    assert not (bench.path / ".ragit").exists()
    bench.ingest()
    assert status() == ("indexed", None)
    pointer = bench.path / ".ragit/store/meta.json"
    kept = pointer.read_bytes()
    pointer.write_bytes(b"{}")
    assert status() == ("store-unavailable", "SNAPSHOT_STORE_UNAVAILABLE")
    pointer.write_bytes(kept)
    manifest = next((bench.path / ".ragit/manifest").glob("*.json"))
    manifest.write_bytes(b"{")
    assert status() == ("invalid", "SNAPSHOT_MANIFEST_INVALID")
    shutil.rmtree(bench.path / ".ragit/store")
    assert status() == ("invalid", "SNAPSHOT_MANIFEST_INVALID")
    manifest.unlink()
    assert status() == ("missing", "SNAPSHOT_NOT_INDEXED")


def test_a_manifest_is_not_combined_with_a_membership_of_another(bench: Bench) -> None:
    commit = bench.git("rev-parse", "HEAD")
    bench.ingest()
    path = bench.path / f".ragit/manifest/{commit}.json"
    digest = bench.select().manifest.membership.digest
    path.write_text(path.read_text(encoding="utf-8").replace(digest, "0" * 64), encoding="utf-8")
    error = failure(bench.texts)
    assert (error.code, error.details) == (
        "SNAPSHOT_STORE_UNAVAILABLE", {"resolvedSha": commit, "reason": "membership"},
    )  # fmt: skip


def test_with_its_manifest_gone_a_snapshot_is_not_served(bench: Bench) -> None:
    bench.ingest()
    next((bench.path / ".ragit/manifest").glob("*.json")).unlink()
    assert failure(bench.texts).code == "SNAPSHOT_NOT_INDEXED"
    bench.ingest()
    assert len(bench.texts()) == 1
