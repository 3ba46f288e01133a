"""Dismissals: who may, of what, what is stored, what it clears, and that nothing comes up again."""

from __future__ import annotations

from typing import Any

import httpx

from .conftest import Bench

REASON = "The string comes from a constant table, so nothing foreign is evaluated."
ONE = "value = eval(text)\n"
TWO = "value = eval(text)\nother = eval(more)\n"


def _reviewed(bench: Bench, text: str = TWO, **policy: bool | None) -> str:
    """A stack of one pull request that was reviewed with findings."""
    bench.push("feature", {"tool.py": text})
    stack = bench.adopt(bench.open_pull("feature"), **{"autoPatchOverride": False, **policy})
    bench.pass_time(60)
    return stack


def _review_id(bench: Bench, number: int = 1) -> int:
    return int(bench.get("/stacks/pr-review", owner="acme", repo="shop", pr_number=number)["id"])


def _dismiss(bench: Bench, who: str = "rivka", **changes: Any) -> httpx.Response:
    request = {
        "owner": "acme",
        "repo": "shop",
        "pr_number": 1,
        "head_sha": bench.head("feature"),
        "review_id": _review_id(bench),
        "scope": "review",
        "reason": REASON,
        **changes,
    }
    return bench.post(
        "/stacks/pr-review/dismiss",
        {name: value for name, value in request.items() if value is not None},
        who,
    )


def _stored(bench: Bench) -> list[dict[str, Any]]:
    with bench.world.store.read() as connection:
        return [dict(row) for row in connection.execute("SELECT * FROM dismissals ORDER BY id")]


def _error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_preview_lists_what_is_open_and_writes_nothing(bench: Bench) -> None:
    stack = _reviewed(bench)
    before = bench.listed(stack)
    answer = _dismiss(bench, preview=True, scope=None, reason=None).json()
    assert answer["status"] == "preview"
    assert [item["line"] for item in answer["remaining"]] == [1, 2]
    assert answer["dismissed"] == answer["already_dismissed"] == []
    assert answer["gate"] == {
        "seam": None,
        "vortex": {
            "cleared": False,
            "reason": "review_findings_open",
            "message": answer["gate"]["vortex"]["message"],
        },
        "other_gates": "unchanged",
    }
    assert answer["stack_id"] == stack
    assert _stored(bench) == []
    assert bench.listed(stack) == before


def test_every_finding_of_a_review_turns_the_verdict_and_auto_land_goes_on(bench: Bench) -> None:
    stack = _reviewed(bench, autoEnqueueWhenReady=True)
    assert bench.blocker(stack) == "Vortex findings need a person"
    answer = _dismiss(bench).json()
    assert answer["status"] == "dismissed"
    assert (len(answer["dismissed"]), answer["remaining"], answer["all_dismissed"]) == (2, [], True)
    assert answer["gate"]["vortex"]["cleared"] is True
    assert bench.layer(stack)["reviewStatus"] == "approved"
    assert bench.layer(stack)["vortexStatus"] == "all_clear"
    assert bench.blocker(stack) is None
    review = bench.get("/stacks/pr-review", owner="acme", repo="shop", pr_number=1)
    assert (review["verdict"], review["finding_count"]) == ("approve", 0)
    bench.until(lambda: bench.ended(stack))


def test_a_part_of_the_findings_clears_nothing(bench: Bench) -> None:
    stack = _reviewed(bench, autoEnqueueWhenReady=True)
    ids = [item["finding_id"] for item in _dismiss(bench, preview=True).json()["remaining"]]
    answer = _dismiss(bench, scope="findings", finding_ids=ids[:1]).json()
    assert [item["finding_id"] for item in answer["dismissed"]] == ids[:1]
    assert [item["finding_id"] for item in answer["remaining"]] == ids[1:]
    assert answer["all_dismissed"] is False
    assert answer["gate"]["vortex"]["cleared"] is False
    assert bench.layer(stack)["reviewStatus"] == "changes_requested"
    bench.pass_time(3600)
    assert bench.entries(stack) == []


def test_with_a_warning_still_open_the_head_reads_comment_and_auto_land_accepts_it(bench: Bench) -> None:
    stack = _reviewed(bench, "value = eval(text)\nlater = 1  # FIXME\n", autoEnqueueWhenReady=True)
    error = next(
        item["finding_id"] for item in _dismiss(bench, preview=True).json()["remaining"] if item["line"] == 1
    )
    answer = _dismiss(bench, scope=None, finding_ids=[error]).json()
    assert answer["gate"]["vortex"]["cleared"] is True
    assert answer["all_dismissed"] is False
    review = bench.get("/stacks/pr-review", owner="acme", repo="shop", pr_number=1)
    assert review["verdict"] == "comment"
    assert bench.layer(stack)["reviewStatus"] == "reviewed"
    bench.until(lambda: bench.ended(stack))


def test_what_is_stored_says_who_why_and_when(bench: Bench) -> None:
    _reviewed(bench, ONE)
    _dismiss(bench, evidence_url="https://example.org/proof")
    row = _stored(bench)[0]
    assert (row["actor_login"], row["reason"], row["evidence_url"], row["scope"]) == (
        "rivka",
        REASON,
        "https://example.org/proof",
        "review",
    )
    assert row["dismissed_at"].startswith("2026-01-02T03:")
    assert row["head_sha"] == bench.head("feature")


def test_a_retry_reports_the_earlier_record_and_adds_none(bench: Bench) -> None:
    _reviewed(bench, ONE)
    first = _dismiss(bench).json()
    bench.pass_time(100)
    again = _dismiss(bench, who="sam", reason="Another twenty characters of reason.").json()
    assert again["dismissed"] == []
    assert [item["finding_id"] for item in again["already_dismissed"]] == [
        item["finding_id"] for item in first["dismissed"]
    ]
    assert again["already_dismissed"][0]["actor_login"] == "rivka"
    assert again["all_dismissed"] is True
    assert len(_stored(bench)) == 1


# Refusals


def test_a_head_that_has_moved_is_stale(bench: Bench) -> None:
    _reviewed(bench)
    old, review = bench.head("feature"), _review_id(bench)
    bench.push("feature", {"tool.py": ONE})
    assert _error(_dismiss(bench, head_sha=old, review_id=review)) == (409, "stale_head")
    assert _error(_dismiss(bench, review_id=review)) == (409, "review_mismatch")
    assert _stored(bench) == []


def test_a_head_is_compared_without_regard_to_case(bench: Bench) -> None:
    _reviewed(bench)
    assert _dismiss(bench, head_sha=bench.head("feature").upper()).status_code == 200


def test_a_review_of_another_pull_request_does_not_match(bench: Bench) -> None:
    _reviewed(bench)
    bench.push("other", {"other.py": ONE})
    bench.adopt(bench.open_pull("other"))
    bench.pass_time(60)
    assert _error(_dismiss(bench, review_id=_review_id(bench, 2))) == (409, "review_mismatch")
    assert _error(_dismiss(bench, review_id=999)) == (404, "review_not_found")
    assert _error(_dismiss(bench, pr_number=77)) == (404, "review_not_found")
    assert _stored(bench) == []


def test_a_review_that_is_still_under_way_cannot_be_dismissed_from(bench: Bench) -> None:
    bench.push("feature", {"tool.py": ONE})
    bench.adopt(bench.open_pull("feature"))
    assert _error(_dismiss(bench)) == (409, "review_mismatch")


def test_an_id_outside_the_review_is_unknown_and_nothing_of_the_rest_is_written(bench: Bench) -> None:
    _reviewed(bench)
    known = _dismiss(bench, preview=True).json()["remaining"][0]["finding_id"]
    for ids in (["12345"], [known, "offdiff-9"], ["review"]):
        assert _error(_dismiss(bench, scope="findings", finding_ids=ids)) == (400, "unknown_finding")
    assert _stored(bench) == []


def test_a_thin_reason_and_malformed_fields_are_invalid(bench: Bench) -> None:
    _reviewed(bench, ONE)
    wrong: list[dict[str, Any]] = [
        {"reason": "too short"},
        {"reason": None},
        {"reason": "  wrong            and wide  "},
        {"scope": "findings"},
        {"scope": None},
        {"evidence_url": "ftp://example.org/proof"},
        {"evidence_url": "not an address"},
        {"head_sha": "abc123"},
        {"review_id": 0},
        {"finding_ids": [""]},
        {"finding_ids": ["1"] * 51},
        {"scope": "everything"},
        {"unknown": True},
    ]
    answers = [(changes, _error(_dismiss(bench, **changes))) for changes in wrong]
    assert answers == [(changes, (400, "invalid_input")) for changes in wrong]
    assert _stored(bench) == []


def test_scope_review_beside_finding_ids_is_refused(bench: Bench) -> None:
    _reviewed(bench)
    known = _dismiss(bench, preview=True).json()["remaining"][0]["finding_id"]
    assert _error(_dismiss(bench, finding_ids=[known])) == (400, "invalid_input")
    assert _stored(bench) == []


def test_who_may_only_read_may_not_dismiss_nor_preview(bench: Bench) -> None:
    _reviewed(bench)
    assert _error(_dismiss(bench, who="noor")) == (403, "forbidden")
    assert _error(_dismiss(bench, who="noor", preview=True)) == (403, "forbidden")
    assert _stored(bench) == []


def test_write_access_without_a_linked_github_account_is_not_enough(bench: Bench) -> None:
    _reviewed(bench)
    with bench.world.store.write() as connection:
        connection.execute("UPDATE accounts SET github_connected = 0 WHERE login = 'rivka'")
    assert _error(_dismiss(bench)) == (403, "forbidden")


def test_a_repository_that_is_not_there_is_forbidden_like_one_that_is_hidden(bench: Bench) -> None:
    _reviewed(bench)
    assert _error(_dismiss(bench, repo="nowhere")) == (403, "forbidden")


def test_a_monitoring_account_may_dismiss_and_is_not_told_of_a_stack_of_another(bench: Bench) -> None:
    _reviewed(bench)
    answer = _dismiss(bench, who="sam").json()
    assert answer["status"] == "dismissed"
    assert answer["stack_id"] is None


# No resurfacing


def test_what_was_dismissed_does_not_come_up_again_after_a_restack_with_the_same_difference(
    bench: Bench,
) -> None:
    stack = _reviewed(bench)
    _dismiss(bench)
    bench.push("main", {"other.txt": "trunk moved\n"})
    git = bench.world.hub.git(bench.repository)
    replayed = git.replay(
        git.commits_between(bench.head("main"), bench.head("feature")),
        bench.head("main"),
        when=bench.clock.now(),
    )
    assert isinstance(replayed, str)
    bench.rewrite("feature", replayed)
    bench.pass_time(60)
    layer = bench.layer(stack)
    assert (layer["reviewStatus"], layer["vortexStatus"]) == ("approved", "all_clear")
    assert bench.get("/stacks/pr-review", owner="acme", repo="shop", pr_number=1)["pass"] == 2


def test_what_was_dismissed_comes_up_again_once_the_difference_changes(bench: Bench) -> None:
    stack = _reviewed(bench, ONE)
    _dismiss(bench)
    bench.push("feature", {"more.py": "x = 1\n"})
    bench.pass_time(60)
    assert bench.layer(stack)["reviewStatus"] == "changes_requested"


# Kinds of findings


def test_findings_outside_the_diff_and_reviews_without_lines_have_ids_of_their_own(bench: Bench) -> None:
    rules = [
        {"text": "whole", "title": "The approach is wrong", "where": "body"},
        {"text": "whole", "title": "A caller breaks", "where": "off_diff"},
    ]
    bench.script(reviewer={"findings": rules})
    stack = _reviewed(bench, "whole\n")
    listed = _dismiss(bench, preview=True).json()["remaining"]
    assert [item["finding_id"] for item in listed] == ["review", "offdiff-2"]
    assert [item["path"] for item in listed] == [None, "tool.py"]
    review = bench.get("/stacks/pr-review", owner="acme", repo="shop", pr_number=1)
    assert [item["title"] for item in review["findings"]["off_diff"]] == [rule["title"] for rule in rules]
    assert _dismiss(bench, scope=None, finding_ids=["review", "offdiff-2"]).json()["all_dismissed"] is True
    assert bench.layer(stack)["reviewStatus"] == "approved"


# Gates


def _seam(bench: Bench) -> tuple[str, int]:
    """A member of a unit with two seam findings, and the review that has them."""
    rules = [
        {"path": "upper.txt", "text": text, "title": f"Seam {text}", "kind": "seam"}
        for text in ("upper", "more")
    ]
    bench.script(reviewer={"findings": rules})
    bench.push("lower", {"lower.txt": "lower\n"})
    bench.push("feature", {"upper.txt": "upper\nmore\n"}, onto="lower")
    bench.open_pull("lower")
    stack = bench.adopt(bench.open_pull("feature", "lower"), autoEnqueueWhenReady=True)
    bench.until(lambda: bench.blocker(stack) == "Seam findings")
    member = bench.listed(stack)["unit"]["members"][1]
    return stack, member["seamReviewId"]


def test_every_finding_of_the_current_seam_review_clears_the_seam_gate(bench: Bench) -> None:
    stack, review = _seam(bench)
    answer = _dismiss(bench, pr_number=2, review_id=review).json()
    assert answer["review_kind"] == "seam"
    assert answer["gate"]["seam"] == {
        "state": "approved",
        "reviewed_sha": bench.head("feature"),
        "review_id": review,
        "cleared": True,
        "blocking": False,
    }
    assert answer["gate"]["vortex"] is None
    bench.until(lambda: bench.ended(stack))
    assert bench.ended(stack) == "landed"


def test_one_of_two_seam_findings_clears_nothing(bench: Bench) -> None:
    stack, review = _seam(bench)
    ids = [
        item["finding_id"]
        for item in _dismiss(bench, pr_number=2, review_id=review, preview=True).json()["remaining"]
    ]
    gate = _dismiss(bench, pr_number=2, review_id=review, scope=None, finding_ids=ids[:1]).json()["gate"][
        "seam"
    ]
    assert (gate["cleared"], gate["blocking"], gate["state"]) == (False, True, "findings")
    assert bench.blocker(stack) == "Seam findings"
    gate = _dismiss(bench, pr_number=2, review_id=review, scope=None, finding_ids=ids[1:]).json()["gate"][
        "seam"
    ]
    assert gate["cleared"] is True


def test_a_core_review_of_a_member_does_not_clear_its_seam_gate(bench: Bench) -> None:
    _, _ = _seam(bench)
    core = _review_id(bench, 2)
    answer = _dismiss(bench, pr_number=2, review_id=core).json()
    assert answer["review_kind"] == "core"
    assert (answer["gate"]["seam"]["cleared"], answer["gate"]["seam"]["blocking"]) == (False, True)


def test_the_vortex_gate_stays_shut_while_a_review_is_incomplete(bench: Bench) -> None:
    bench.script(reviewer={"incomplete_above": 1})
    bench.push("feature", {"a.py": ONE, "b.py": "x = 1\n"})
    stack = bench.adopt(bench.open_pull("feature"), autoEnqueueWhenReady=True, autoPatchOverride=False)
    bench.pass_time(60)
    answer = _dismiss(bench).json()
    assert (answer["all_dismissed"], answer["gate"]["vortex"]["cleared"]) == (True, False)
    assert answer["gate"]["vortex"]["reason"] == "review_incomplete"
    assert bench.blocker(stack) == "Vortex reviewed only part of this PR"
    bench.pass_time(1200)
    assert bench.entries(stack) == []


def test_red_checks_hold_a_head_whose_findings_are_dismissed(bench: Bench) -> None:
    bench.script(ci={"checks": [{"name": "unit", "fails_when": {"path": "tool.py"}}]})
    stack = _reviewed(bench, autoEnqueueWhenReady=True)
    answer = _dismiss(bench).json()
    assert answer["gate"]["other_gates"] == "unchanged"
    assert bench.blocker(stack) == "CI failed — unit"
    assert bench.listed(stack)["autoEnqueueWhenReady"] is True
