"""Every refusal of a publication, by code and status, and that it leaves nothing behind."""

from __future__ import annotations

import base64
import copy
import hashlib
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.publication.check import check
from mergestorm_mcp.service.publication.rebuild import rebuild
from mergestorm_mcp.service.publication.request import PublishBody

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
Change = Callable[[dict[str, Any], Any], object]


def put(body: dict[str, Any], content: bytes) -> str:
    """Give the last commit another file with this content; returns the content's id."""
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    body["blobs"][oid] = {"size": len(content), "base64": base64.b64encode(content).decode()}
    body["commits"][-1]["changes"].append({"path": oid, "op": "put", "mode": "100644", "blob": oid})
    return oid


def many_commits(body: dict[str, Any], _: Any) -> None:
    body["commits"] *= 11


def many_paths(body: dict[str, Any], _: Any) -> None:
    [blob, *_rest] = body["blobs"]
    body["commits"][0]["changes"] = [
        {"path": f"file-{number}", "op": "put", "mode": "100644", "blob": blob} for number in range(501)
    ]


def large_file(body: dict[str, Any], _: Any) -> None:
    put(body, b"x" * (2 * 1024 * 1024 + 1))


def large_file_that_says_it_is_small(body: dict[str, Any], _: Any) -> None:
    body["blobs"][put(body, b"x" * (2 * 1024 * 1024 + 1))]["size"] = 1


def many_bytes(body: dict[str, Any], _: Any) -> None:
    for number in range(5):
        put(body, bytes([number]) * (1_700_000))


def large_commit(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"\n\n", b"\n\n" + b"x" * (256 * 1024), message=lambda old: "x" * (256 * 1024) + old)


def rewrite(body: dict[str, Any], old: bytes, new: bytes, **fields: Any) -> None:
    """Change the last commit's bytes, and fields with them."""
    commit = body["commits"][-1]
    raw = base64.b64decode(commit["raw_base64"])
    assert old in raw
    commit["raw_base64"] = base64.b64encode(raw.replace(old, new, 1)).decode()
    for name, change in fields.items():
        commit[name] = change(commit[name])


def second_parent(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"\nauthor ", b"\nparent " + b"1" * 40 + b"\nauthor ")


def no_parent(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"parent " + body["commits"][-1]["parent"].encode() + b"\n", b"")


def signature(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"\n\n", b"\ngpgsig x\n y\n\n")


def malformed(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"author ", b"writer ")


def other_message(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"Full moon", b"Half moon")


def other_author(body: dict[str, Any], _: Any) -> None:
    body["commits"][-1]["author"]["name"] = "Somebody Else"


def other_date(body: dict[str, Any], _: Any) -> None:
    body["commits"][-1]["committer"]["date"] = "1 +0000"


def other_tree_in_the_bytes(body: dict[str, Any], _: Any) -> None:
    rewrite(body, b"tree " + body["tree_sha"].encode(), b"tree " + b"1" * 40)


def other_tree(body: dict[str, Any], _: Any) -> None:
    wanted = "1" * 40
    rewrite(body, b"tree " + body["tree_sha"].encode(), b"tree " + wanted.encode(), tree=lambda _: wanted)
    body["tree_sha"] = wanted


def other_tree_at_the_head(body: dict[str, Any], _: Any) -> None:
    body["tree_sha"] = body["commits"][0]["tree"]


def a_change_is_missing(body: dict[str, Any], _: Any) -> None:
    change = body["commits"][0]["changes"].pop()
    if change["blob"] not in str(body["commits"]):
        del body["blobs"][change["blob"]]


def deletes_what_is_not_there(body: dict[str, Any], _: Any) -> None:
    body["commits"][0]["changes"].append({"path": "nowhere", "op": "delete"})


def file_below_a_file(body: dict[str, Any], _: Any) -> None:
    body["commits"][0]["changes"][0]["path"] = "tide.txt/below"


def submodule(body: dict[str, Any], _: Any) -> None:
    body["commits"][0]["changes"][0]["mode"] = "160000"


def path(name: str) -> Change:
    def change(body: dict[str, Any], _: Any) -> None:
        body["commits"][0]["changes"][0]["path"] = name

    return change


def field(name: str, value: Any) -> Change:
    def change(body: dict[str, Any], _: Any) -> None:
        body[name] = value

    return change


def unknown_base_commit(body: dict[str, Any], _: Any) -> None:
    rewrite_parent(body, "1" * 40)


def rewrite_parent(body: dict[str, Any], parent: str) -> None:
    first = body["commits"][0]
    raw = base64.b64decode(first["raw_base64"])
    first["raw_base64"] = base64.b64encode(raw.replace(first["parent"].encode(), parent.encode(), 1)).decode()
    first["parent"] = body["base_sha"] = parent


def base_commit_of_another_branch(body: dict[str, Any], tidepool: Any) -> None:
    files = {"tide.txt": b"low\n"}
    other = tidepool.git.commit_files([], files, message="other root", when=NOON)
    tidepool.git.move("elsewhere", other, None)
    rewrite_parent(body, other)


def base_nobody_registered(body: dict[str, Any], tidepool: Any) -> None:
    tidepool.git.move("feature", body["base_sha"], None)
    body["base"] = "feature"


def branch_in_the_way(body: dict[str, Any], tidepool: Any) -> None:
    tidepool.git.move("topic/one", body["base_sha"], None)


def base_has_everything(body: dict[str, Any], tidepool: Any) -> None:
    publication = check(PublishBody.model_validate(body))
    rebuilt = rebuild(tidepool.git, publication)
    tidepool.git.store(rebuilt.objects)
    tidepool.git.move("main", rebuilt.head.oid, body["base_sha"])


def without_surge(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        tidepool.hub.uninstall_app(connection, tidepool.repository.id, "surge")


def surge_that_only_reads(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        tidepool.hub.install_app(connection, tidepool.repository.id, "surge", may_write=False)


def without_github(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        connection.execute("UPDATE accounts SET github_connected = 0")


def without_write_access(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        tidepool.hub.set_permission(connection, tidepool.repository.id, "rivka", "read")


def without_any_access(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        connection.execute("DELETE FROM collaborators")


def rate_limit(_: dict[str, Any], tidepool: Any) -> None:
    with tidepool.world.store.write() as connection:
        knobs.turn(tidepool.world, connection, "rate_limit", times=1, retry_after_seconds=7)


def work_of_somebody_else(body: dict[str, Any], tidepool: Any) -> None:
    other = tidepool.git.commit_files([body["base_sha"]], {"x": b"x"}, message="other", when=NOON)
    tidepool.git.move("topic", other, None)


def work_on_top(body: dict[str, Any], tidepool: Any) -> None:
    work_of_somebody_else(body, tidepool)
    body["replace_head"] = body["base_sha"]


def nothing(_body: dict[str, Any], _tidepool: Any) -> None:
    pass


WRONG_REQUESTS: list[tuple[str, Change, int, str]] = [
    ("no commits", field("commits", []), 400, "no_commits"),
    ("22 commits", many_commits, 400, "too_many_commits"),
    ("501 paths", many_paths, 400, "too_many_paths"),
    ("a file too large", large_file, 400, "file_too_large"),
    ("a file too large that says otherwise", large_file_that_says_it_is_small, 400, "file_too_large"),
    ("all files too large", many_bytes, 400, "payload_too_large"),
    ("a commit too large", large_commit, 400, "payload_too_large"),
    ("a submodule", submodule, 400, "submodule"),
    ("two parents", second_parent, 400, "merge_commit"),
    ("no parent", no_parent, 400, "merge_commit"),
    ("a signature", signature, 400, "unverifiable_commit"),
    ("a malformed commit", malformed, 400, "unverifiable_commit"),
    ("bytes with another message", other_message, 400, "invalid_input"),
    ("bytes with another author", other_author, 400, "invalid_input"),
    ("bytes with another date", other_date, 400, "invalid_input"),
    ("bytes with another tree", other_tree_in_the_bytes, 400, "tree_mismatch"),
    ("a tree that the changes do not give", other_tree, 400, "tree_mismatch"),
    ("another tree at the head", other_tree_at_the_head, 400, "tree_mismatch"),
    ("a missing change", a_change_is_missing, 400, "tree_mismatch"),
    ("a deletion of nothing", deletes_what_is_not_there, 400, "tree_mismatch"),
    ("a file below a file", file_below_a_file, 400, "tree_mismatch"),
    ("the reserved names of units", field("branch", "mg-stack-7"), 400, "reserved_branch"),
    ("the reserved names of parks", field("branch", "mg-park-7"), 400, "reserved_branch"),
    ("a base with a reserved name", field("base", "mg-stack-7"), 400, "reserved_branch"),
    ("the base itself", field("branch", "main"), 400, "reserved_branch"),
    ("an unknown base", field("base", "nowhere"), 400, "base_not_found"),
    ("an unknown base commit", unknown_base_commit, 400, "base_not_found"),
    ("an unknown repository", field("repo", "other"), 404, "not_found"),
    *(
        (f"the path {name!r}", path(name), 400, "bad_path")
        for name in (
            "../x", "a/../b", "/x", "a//b", "a/", "", ".", ".git/config", "a/.GIT/x", "git~1", ".git.", ".git ",
            ".git::$INDEX_ALLOCATION", ".g\u200cit/x", ".git\\config", "a\\.GIT\\x", "nul\0", "x" * 4097, "/".join("x" * 257),
        )
    ),
    *(
        (f"{name} is {value!r}"[:60], field(name, value), 400, "invalid_input")
        for name, value in (
            ("branch", "-x"), ("branch", "a..b"), ("branch", "HEAD"), ("branch", "a b"), ("branch", "x" * 300),
            ("branch", "@{1}"), ("base", "a.lock"), ("title", " "), ("title", "x" * 257), ("body", "x" * 65_537),
            ("base_sha", "HEAD"), ("head_sha", "1" * 40), ("replace_head", "1" * 39), ("auto_land", "yes"),
            ("commits", None), ("blobs", {}), ("extra", 1), ("owner", ""), ("tree_sha", "A" * 40),
        )
    ),
]  # fmt: skip

SITUATIONS: list[tuple[str, Change, int, str, str | None]] = [
    ("everything is in the base", base_has_everything, 400, "no_commits", None),
    ("a base commit of elsewhere", base_commit_of_another_branch, 400, "unrelated_history", None),
    ("a base in no stack", base_nobody_registered, 409, "implicit_stack", None),
    ("other work on the branch", work_of_somebody_else, 409, "head_changed", None),
    ("other work than may be replaced", work_on_top, 409, "head_changed", None),
    ("a branch in the way", branch_in_the_way, 400, "invalid_input", None),
    ("no write access", without_write_access, 403, "forbidden", None),
    ("no access", without_any_access, 404, "not_found", None),
    ("no Surge", without_surge, 400, "cyclone_not_installed", "surge_not_installed"),
    (
        "a Surge that only reads",
        surge_that_only_reads,
        400,
        "cyclone_permission_missing",
        "surge_permission_missing",
    ),
    ("no GitHub account", without_github, 400, "cyclone_not_connected", "surge_not_connected"),
    ("too many requests", rate_limit, 429, "rate_limited", None),
]


@pytest.mark.parametrize(
    ("change", "status", "code", "reason"),
    [case[1:] for case in SITUATIONS],
    ids=[case[0] for case in SITUATIONS],
)
def test_a_refusal_has_its_code_and_leaves_nothing_behind(
    body: dict[str, Any], post: Any, tidepool: Any, change: Change, status: int, code: str, reason: str | None
) -> None:
    change(body, tidepool)
    before = tidepool.state()
    told_status, told = post(body)
    assert (told_status, told["error"], told.get("reason")) == (status, code, reason)
    assert told["message"]
    assert tidepool.state() == before


def test_a_wrong_request_is_refused_by_code_and_the_right_one_is_taken_after_all(
    body: dict[str, Any], post: Any, tidepool: Any
) -> None:
    before = tidepool.state()
    told = {}
    for name, change, _, _ in WRONG_REQUESTS:
        wrong = copy.deepcopy(body)
        change(wrong, tidepool)
        status, answer = post(wrong)
        told[name] = (status, answer.get("error"))
    assert told == {name: (status, code) for name, _, status, code in WRONG_REQUESTS}
    assert tidepool.state() == before
    status, answer = post(body)
    assert (status, answer["state"]) == (200, "registered")


def test_a_changed_head_is_told(body: dict[str, Any], post: Any, tidepool: Any) -> None:
    work_of_somebody_else(body, tidepool)
    _, told = post(body)
    assert told["github_head"] == tidepool.git.head("topic")
    assert told["local_head"] == body["head_sha"]


def test_a_missing_app_comes_with_its_address(body: dict[str, Any], post: Any, tidepool: Any) -> None:
    without_surge(body, tidepool)
    _, told = post(body)
    assert told["installUrl"].startswith("https://github.com/apps/")


def test_a_branch_that_is_being_published_is_busy(body: dict[str, Any], post: Any, tidepool: Any) -> None:
    before = tidepool.state()
    with tidepool.hub.claim(tidepool.repository.id, "topic") as mine:
        assert mine
        status, told = post(body)
    assert (status, told["error"], told["retry_after_seconds"]) == (503, "busy", 1)
    assert tidepool.state() == before
    assert post(body)[0] == 200


def test_a_branch_whose_lock_is_held_is_busy(body: dict[str, Any], post: Any, tidepool: Any) -> None:
    lock = tidepool.git.path / "refs" / "heads" / "topic.lock"
    lock.touch()
    status, told = post(body)
    assert (status, told["error"]) == (503, "busy")
    assert tidepool.count("pulls") == tidepool.count("stacks") == 0
    lock.unlink()
    assert post(body)[0] == 200


def test_a_repository_that_cannot_be_read_is_told_so(body: dict[str, Any], post: Any, tidepool: Any) -> None:
    moved = tidepool.git.path.with_name("moved")
    shutil.move(tidepool.git.path, moved)
    status, told = post(body)
    assert (status, told["error"]) == (503, "github_unreadable")
    shutil.move(moved, tidepool.git.path)
    assert tidepool.count("pulls") == 0


def test_a_pull_request_in_the_stack_of_another_account_is_forbidden(
    body: dict[str, Any], post: Any, tidepool: Any
) -> None:
    assert post(body)[0] == 200
    before = tidepool.state()
    status, told = post(body, key="msk_live_key-of-sam")
    assert (status, told["error"]) == (403, "forbidden")
    assert tidepool.state() == before


def test_a_publication_that_fails_at_its_end_moves_the_branch_back(
    body: dict[str, Any], post: Any, tidepool: Any
) -> None:
    with tidepool.world.store.write() as connection:
        connection.execute(
            "CREATE TRIGGER no_stacks BEFORE INSERT ON stacks BEGIN SELECT raise(ABORT, 'no'); END"
        )
    before = tidepool.state()
    assert post(body)[0] >= 500
    assert tidepool.state() == before
    with tidepool.world.store.write() as connection:
        connection.execute("DROP TRIGGER no_stacks")
    assert post(body)[0] == 200
