"""The real tools publish to the real service: new branches, later commits, signatures, worktrees, shallow clones, lost answers."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication
from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.stacks.records import stack_of_pull

pytestmark = pytest.mark.anyio


def sign_tip(checkout: Any) -> str:
    """Give the newest commit of the branch a signature; returns its new id."""
    raw = checkout.git_bytes("cat-file", "commit", "HEAD").replace(b"\n\n", b"\ngpgsig x\n y\n\n", 1)
    made: str = checkout.git("hash-object", "-w", "-t", "commit", "--stdin", data=raw)
    checkout.git("update-ref", "refs/heads/topic", made)
    return made


def lose_answers(tidepool: Any, times: int) -> None:
    with tidepool.world.store.write() as connection:
        path = "/api/v1/stacks/publish"
        knobs.turn(tidepool.world, connection, "lost_answer", method="POST", path=path, times=times)


async def test_a_new_branch_gets_its_pull_request_and_its_stack(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    absent = await tool("stack_publish_status")
    assert (absent["state"], absent["head"], absent["in_sync"]) == ("absent", None, False)
    head = checkout.commit({"a": b"1\n"}, "Add a\n\nIt was missing.")
    told = await tool("stack_publish")
    assert told["state"] == "registered"
    assert told["created"] == {"branch": True, "pull": True, "stack": True}
    assert told["resumed"] is False
    tree = checkout.git("rev-parse", "HEAD^{tree}")
    assert told["head"] == {"sha": head, "tree": tree, "verified": True}
    assert told["pull"] == {
        "number": 1,
        "url": "https://github.com/kestrel-labs/tidepool/pull/1",
        "draft": False,
    }
    assert {**told["stack"], "id": None} == {
        "id": None,
        "auto_patch": False,
        "auto_land": True,
        "auto_review": None,
    }
    assert told["watch"]["next"]["args"]["stack_id"] == told["stack"]["id"]
    assert tidepool.git.head("topic") == head
    with tidepool.world.store.read() as connection:
        [pull] = tidepool.hub.pulls(connection, tidepool.repository.id)
    assert (pull.title, pull.body, pull.base_branch) == ("Add a", "It was missing.", "main")
    status = await tool("stack_publish_status")
    assert (status["state"], status["in_sync"]) == ("registered", True)
    assert status["stack"]["id"] == told["stack"]["id"]


async def test_publishing_again_changes_nothing(checkout: Any, tool: Any, tidepool: Any) -> None:
    checkout.commit({"a": b"1\n"})
    first = await tool("stack_publish")
    again = await tool("stack_publish", title="Another title", body="Another body")
    assert again["created"] == {"branch": False, "pull": False, "stack": False}
    assert again["resumed"] is True
    for name in ("head", "pull", "stack", "commits", "state"):
        assert again[name] == first[name]
    assert (tidepool.count("pulls"), tidepool.count("stacks"), tidepool.count("layers")) == (1, 1, 1)


async def test_later_commits_are_added_to_the_branch(checkout: Any, tool: Any, tidepool: Any) -> None:
    first = checkout.commit({"a": b"1\n"})
    await tool("stack_publish")
    checkout.commit({"a": b"2\n"})
    second = checkout.commit({"a": None, "b": b"2\n"})
    told = await tool("stack_publish")
    assert (told["head"]["sha"], told["head"]["verified"]) == (second, True)
    assert told["created"] == {"branch": False, "pull": False, "stack": False}
    assert tidepool.git.head("topic") == second
    assert tidepool.git.is_ancestor(first, second)


async def test_auto_land_of_a_present_stack_changes_only_when_it_is_said(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    checkout.commit({"a": b"1\n"})
    assert (await tool("stack_publish", auto_land=False))["stack"]["auto_land"] is False
    assert (await tool("stack_publish"))["stack"]["auto_land"] is False
    assert (await tool("stack_publish", auto_land=True))["stack"]["auto_land"] is True
    assert (await tool("stack_publish"))["stack"]["auto_land"] is True


async def test_a_signed_commit_is_found_again_by_the_id_of_its_copy(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    plain = checkout.commit({"a": b"1\n"})
    checkout.commit({"a": b"2\n"})
    signed = sign_tip(checkout)
    first = await tool("stack_publish")
    assert first["head"]["verified"] is True
    assert [commit["signed"] for commit in first["commits"]] == [False, True]
    assert first["commits"][0]["github_sha"] == plain
    copy = first["commits"][1]["github_sha"]
    assert copy not in {plain, signed}
    assert tidepool.git.head("topic") == copy
    checkout.commit({"a": b"3\n"})
    second = await tool("stack_publish")
    assert second["resumed"] is True
    assert [commit["github_sha"] for commit in second["commits"][:2]] == [plain, copy]
    assert tidepool.git.commit(second["head"]["sha"]).parents == (copy,)
    status = await tool("stack_publish_status")
    assert status["in_sync"] is True


async def test_a_publication_from_a_linked_worktree(
    checkout: Any, make_checkout: Any, tool: Any, tidepool: Any
) -> None:
    checkout.git("checkout", "--quiet", "main")
    checkout.git("worktree", "add", "--quiet", "-b", "side", "beside", "main")
    beside = type(checkout)(Path(checkout.path, "beside"))
    head = beside.commit({"a": b"1\n"})
    told = await tool("stack_publish", cwd=str(beside.path))
    assert (told["branch"], told["head"]["sha"]) == ("side", head)
    assert tidepool.git.head("side") == head


async def test_a_shallow_clone_publishes_if_it_reaches_the_base(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    base = checkout.git("rev-parse", "main")
    for number in range(3):
        base = tidepool.git.commit_files(
            [base], {f"m{number}": b"x\n"}, message="main", when=tidepool.world.pace.now()
        )
    tidepool.git.move("main", base, checkout.git("rev-parse", "main"))
    clone = type(checkout)(Path(checkout.path, "clone"))
    checkout.git("clone", "--quiet", "--depth=1", f"file://{tidepool.git.path}", "clone")
    clone.git("remote", "set-url", "origin", "git@github.com:kestrel-labs/tidepool.git")
    clone.git("checkout", "--quiet", "-b", "shallow")
    head = clone.commit({"a": b"1\n"})
    told = await tool("stack_publish", cwd=str(clone.path))
    assert (told["head"]["sha"], told["head"]["verified"]) == (head, True)
    assert tidepool.git.head("shallow") == head


@pytest.mark.parametrize("signed", [False, True])
async def test_any_prefix_that_is_there_already_is_gone_on_from(
    checkout: Any, tool: Any, tidepool: Any, signed: bool
) -> None:
    for number in range(3):
        checkout.commit({"a": f"{number}\n".encode()})
        if signed and number == 1:
            sign_tip(checkout)
    ids = checkout.git("rev-list", "--reverse", "main..topic").split()
    whole = await tool("stack_publish")
    copies = [commit["github_sha"] for commit in whole["commits"]]
    assert (copies == ids) is not signed
    live = copies[-1]
    for start in [checkout.git("rev-parse", "main"), *copies]:
        tidepool.git.move("topic", start, live)
        told = await tool("stack_publish")
        assert told["head"] == whole["head"]
        assert told["created"] == {"branch": False, "pull": False, "stack": False}
        assert tidepool.git.head("topic") == live
    assert (tidepool.count("pulls"), tidepool.count("stacks")) == (1, 1)


async def test_other_work_is_kept_until_exactly_it_may_be_replaced(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    head = checkout.commit({"a": b"1\n"})
    await tool("stack_publish")
    other = tidepool.git.commit_files(
        [head], {"fix": b"x\n"}, message="Cyclone", when=tidepool.world.pace.now()
    )
    tidepool.git.move("topic", other, head)
    checkout.commit({"a": b"2\n"})
    refused = await tool("stack_publish")
    assert refused["error"]["code"] == "head_changed"
    assert refused["github_head"] == other
    status = await tool("stack_publish_status")
    assert (status["head"]["sha"], status["in_sync"]) == (other, False)
    wrong = await tool("stack_publish", replace_head=head)
    assert wrong["error"]["code"] == "head_changed"
    assert tidepool.git.head("topic") == other
    told = await tool("stack_publish", replace_head=other.upper())
    assert told["head"]["verified"] is True
    assert tidepool.git.head("topic") == told["head"]["sha"]
    # The answer may have been lost: asking again with the same replace_head finds the new head there.
    again = await tool("stack_publish", replace_head=other)
    assert (again["head"], again["resumed"]) == (told["head"], True)


async def test_a_rewritten_branch_replaces_what_it_names(checkout: Any, tool: Any, tidepool: Any) -> None:
    old = checkout.commit({"a": b"1\n"})
    await tool("stack_publish")
    checkout.git("commit", "--quiet", "--amend", "-m", "Other words")
    new = checkout.git("rev-parse", "HEAD")
    assert (await tool("stack_publish"))["error"]["code"] == "head_changed"
    assert (await tool("stack_publish", replace_head=old))["head"]["sha"] == new
    assert tidepool.count("pulls") == 1


async def test_a_lost_answer_is_unknown_and_asking_again_doubles_nothing(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    head = checkout.commit({"a": b"1\n"})
    lose_answers(tidepool, 1)
    lost = await tool("stack_publish")
    assert lost["state"] == "unknown"
    status = await tool("stack_publish_status")
    assert (status["state"], status["head"]["sha"]) == ("registered", head)
    told = await tool("stack_publish")
    assert told["created"] == {"branch": False, "pull": False, "stack": False}
    assert (told["pull"], told["stack"]["id"]) == (status["pull"], status["stack"]["id"])
    assert (tidepool.count("pulls"), tidepool.count("stacks")) == (1, 1)


async def test_what_is_behind_the_base_is_no_work_that_is_lost(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    old = checkout.git("rev-parse", "main")
    checkout.git("checkout", "--quiet", "main")
    new = checkout.commit({"main.txt": b"x\n"})
    tidepool.git.move("topic", old, None)
    checkout.git("push", "--quiet", str(tidepool.git.path), "main")
    checkout.git("update-ref", "refs/remotes/origin/main", new)
    checkout.git("checkout", "--quiet", "topic")
    checkout.git("reset", "--quiet", "--hard", "main")
    head = checkout.commit({"a": b"1\n"})
    told = await tool("stack_publish")
    assert (told["head"]["sha"], told["created"]["branch"]) == (head, False)


async def test_a_branch_upon_a_published_one_joins_its_stack(checkout: Any, tool: Any, tidepool: Any) -> None:
    checkout.commit({"a": b"1\n"})
    lower = await tool("stack_publish")
    checkout.git("checkout", "--quiet", "-b", "upper")
    head = checkout.commit({"b": b"1\n"})
    told = await tool("stack_publish", base="topic")
    assert told["stack"]["id"] == lower["stack"]["id"]
    assert told["created"] == {"branch": True, "pull": True, "stack": False}
    assert tidepool.git.head("upper") == head
    assert (tidepool.count("stacks"), tidepool.count("layers")) == (1, 2)
    again = await tool("stack_publish", base="topic")
    assert (again["pull"]["number"], again["resumed"]) == (told["pull"]["number"], True)


async def test_a_late_repetition_after_the_landing_publishes_nothing(
    checkout: Any, tool: Any, tidepool: Any
) -> None:
    head = checkout.commit({"a": b"1\n"})
    told = await tool("stack_publish")
    git, world = tidepool.git, tidepool.world
    base = git.head("main")
    merge = git.merge_commit(base, head, message="Merge", when=world.pace.now())
    git.move("main", merge, base)
    with world.store.write() as connection:
        at = iso(world.pace.now())
        number = told["pull"]["number"]
        tidepool.hub.mark_merged(
            connection, tidepool.repository.id, number, at=at, head=head, base=base, merge_sha=merge
        )
        connection.execute("UPDATE stacks SET landed_at = ?", (at,))
    git.move("topic", None, head)
    late = await tool("stack_publish")
    assert (late["pull"], late["stack"]["id"]) == (told["pull"], told["stack"]["id"])
    assert late["created"] == {"branch": False, "pull": False, "stack": False}
    assert git.head("topic") is None
    assert (tidepool.count("pulls"), tidepool.count("stacks")) == (1, 1)
    checkout.commit({"a": b"2\n"})
    following = await tool("stack_publish")
    assert following["created"] == {"branch": True, "pull": True, "stack": True}


async def test_a_status_says_how_far_it_got(checkout: Any, tool: Any, tidepool: Any) -> None:
    head = checkout.commit({"a": b"1\n"})
    told = await tool("stack_publish")
    with tidepool.world.store.write() as connection:
        connection.execute("UPDATE stacks SET account_id = account_id + 1")
    opened = await tool("stack_publish_status")
    assert (opened["state"], opened["pull"], opened["stack"]) == ("opened", told["pull"], None)
    with tidepool.world.store.write() as connection:
        tidepool.hub.close_pull(
            connection, tidepool.repository.id, 1, at=iso(tidepool.world.pace.now()), head=head
        )
    pushed = await tool("stack_publish_status")
    assert (pushed["state"], pushed["head"]["sha"], pushed["pull"]) == ("pushed", head, None)
    tidepool.git.move("topic", None, head)
    absent = await tool("stack_publish_status")
    assert (absent["state"], absent["head"], absent["pull"], absent["in_sync"]) == (
        "absent",
        None,
        None,
        False,
    )


async def test_a_stack_taken_back_is_followed_by_a_new_one(checkout: Any, tool: Any, tidepool: Any) -> None:
    checkout.commit({"a": b"1\n"})
    first = await tool("stack_publish")
    with tidepool.world.store.write() as connection:
        connection.execute("UPDATE stacks SET archived_at = ?", (iso(tidepool.world.pace.now()),))
    second = await tool("stack_publish")
    assert second["pull"] == first["pull"]
    assert second["stack"]["id"] != first["stack"]["id"]
    assert second["created"] == {"branch": False, "pull": False, "stack": True}


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot express some of the names")
async def test_an_unchanged_submodule_stays_and_a_changed_one_is_refused(
    checkout: Any, tool: Any, tidepool: Any, post: Any, environment: Environment
) -> None:
    checkout.git("checkout", "--quiet", "main")
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor")
    checkout.git("commit", "--quiet", "-m", "vendor")
    checkout.git("push", "--quiet", str(tidepool.git.path), "main")
    checkout.git("update-ref", "refs/remotes/origin/main", "main")
    checkout.git("checkout", "--quiet", "-B", "topic")
    (checkout.path / "a").write_bytes(b"1\n")
    checkout.git("add", "a")
    checkout.git("commit", "--quiet", "-m", "a")
    for change in (
        {"path": "vendor", "op": "delete"},
        {"path": "vendor/file", "op": "delete"},
        {"path": "vendor", "op": "put"},
        {"path": "vendor/file", "op": "put"},
    ):
        body = prepare_publication(environment, PublishRequest()).body
        [commit] = body["commits"]
        like = {name: commit["changes"][0][name] for name in ("mode", "blob") if change["op"] == "put"}
        commit["changes"].append({**change, **like})
        status, refused = post(body)
        assert (status, refused["error"]) == (400, "submodule")
    told = await tool("stack_publish")
    assert told["head"]["verified"] is True
    entries = tidepool.git.repository.list_tree(told["head"]["sha"])
    assert ("160000", b"vendor") in {(entry.mode, entry.path) for entry in entries}


async def test_the_stack_of_a_publication_is_its_owner_s_alone(
    checkout: Any, tool: Any, tidepool: Any, service: Any
) -> None:
    checkout.commit({"a": b"1\n"})
    told = await tool("stack_publish")
    with tidepool.world.store.read() as connection:
        stack = stack_of_pull(connection, tidepool.repository.id, told["pull"]["number"])
    assert stack is not None
    other = service.client("msk_live_key-of-sam").get(
        "/api/v1/stacks/publish",
        params={"owner": "kestrel-labs", "repo": "tidepool", "branch": "topic"},
    )
    assert (other.json()["state"], other.json()["stack"]) == ("opened", None)
    assert stack["id"] not in other.text


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"repo": "other"}, 404, "not_found"),
        ({"branch": "a..b"}, 400, "invalid_input"),
        ({"branch": ""}, 400, "invalid_input"),
        ({"extra": "1"}, 400, "invalid_input"),
    ],
)
def test_a_status_that_cannot_be_told_is_refused(
    service: Any, tidepool: Any, query: dict[str, str], status: int, code: str
) -> None:
    params = {"owner": "kestrel-labs", "repo": "tidepool", "branch": "topic", **query}
    reply = service.client().get("/api/v1/stacks/publish", params=params)
    assert (reply.status_code, reply.json()["error"]) == (status, code)


def test_commits_without_their_bytes_are_built_from_their_fields(
    body: dict[str, Any], post: Any, tidepool: Any
) -> None:
    for commit in body["commits"]:
        del commit["raw_base64"]
    status, told = post(body)
    assert (status, told["head"]["sha"]) == (200, body["head_sha"])
    parents = [body["base_sha"], *(commit["sha"] for commit in body["commits"])]
    for parent, commit in itertools.pairwise(parents):
        assert tidepool.git.commit(commit).parents == (parent,)
