"""`mg stack watch` line by line: what it prints, how it ends, what it passes over and what it tries again."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest

from mergestorm_mcp.stacks.reader import ApiStackReader
from mergestorm_mcp.stacks.watch_loop import LoopOptions, LoopOutcome, watch_loop

pytestmark = pytest.mark.anyio
Simulated = Callable[[Any], tuple[Any, Any, Any]]
HEAD = "0000000b" * 5
ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"

LANDED = f"MS-WATCH LANDED stack={ID} reason=landed"
RED = f'MS-WATCH ATTENTION pr=11 head={HEAD} blocker="CI failed — style" repair=ci_failure'
DRAFT = f'MS-WATCH ATTENTION pr=11 head={HEAD} blocker="Draft PR" repair=none'


class Story:
    """What the service tells, snapshot after snapshot; the last one for ever.

    A snapshot is a stack, None for a stack that is gone, or an answer `(delay, answer)`. Reads with `landed` are
    answered from `landed`.
    """

    def __init__(self, *snapshots: Any, entries: list[Any] | None = None, landed: Any = None) -> None:
        self.snapshots = list(snapshots)
        self.entries = entries or []
        self.landed = landed
        self.requests: list[httpx.Request] = []
        self.at_snapshot: Callable[[int], None] = lambda _number: None

    def __call__(self, request: httpx.Request) -> tuple[float, Any]:
        self.requests.append(request)
        if request.url.path.endswith("/queue"):
            if "landed" in request.url.params:
                assert request.url.params["stackId"] == ID
                found = self.landed
                return (
                    found if isinstance(found, tuple) else (0.0, (200, {"entries": [], "landed": found}, {}))
                )
            return float(request.url.params.get("wait", 0)), (200, {"entries": self.entries}, {})
        self.at_snapshot(len([item for item in self.requests if item.url.path.endswith("/enrich")]))
        found = self.snapshots.pop(0) if len(self.snapshots) > 1 else self.snapshots[0]
        if isinstance(found, tuple):
            return found
        return 0.0, (200, {"stacks": [found] if found is not None else []}, {})


class Watch:
    """Runs a watch and keeps what it said."""

    def __init__(self, simulated: Simulated) -> None:
        self.simulated = simulated
        self.lines: list[str] = []
        self.clock: Any = None
        self.began = 0.0

    async def __call__(self, story: Story, stop: anyio.Event | None = None, **options: Any) -> LoopOutcome:
        api, self.clock, _ = self.simulated(story)
        self.began = self.clock.time
        reader, chosen = ApiStackReader(api), LoopOptions(**options)
        return await watch_loop(
            reader, f" {ID.upper()} ", chosen, clock=self.clock, say=self.lines.append, stop=stop
        )

    @property
    def marks(self) -> list[str]:
        return [line for line in self.lines if line.startswith("MS-WATCH")]

    @property
    def minutes(self) -> float:
        return float(self.clock.time - self.began) / 60


@pytest.fixture
def watch(simulated: Simulated) -> Watch:
    return Watch(simulated)


@pytest.fixture
def quiet(make: SimpleNamespace) -> dict[str, Any]:
    return make.stack(make.layer())  # type: ignore[no-any-return]


@pytest.fixture
def red(make: SimpleNamespace) -> dict[str, Any]:
    return make.stack(make.layer(ciStatus="failure", checks={"failure": 1, "failingName": "style"}))  # type: ignore[no-any-return]


@pytest.fixture
def draft(make: SimpleNamespace) -> dict[str, Any]:
    return make.stack(make.layer(draft=True))  # type: ignore[no-any-return]


@pytest.fixture
def landed(make: SimpleNamespace) -> dict[str, Any]:
    return make.stack(make.layer(state="merged"))  # type: ignore[no-any-return]


def failing(answer: Any) -> tuple[float, Any]:
    return 0.0, answer


async def test_waiting_is_silent(watch: Watch, quiet: Any, landed: Any) -> None:
    await watch(Story(*[quiet] * 40, landed))
    assert watch.marks == [LANDED]
    assert watch.minutes > 20


async def test_an_attention_is_one_line_and_exit_3(watch: Watch, quiet: Any, red: Any) -> None:
    outcome = await watch(Story(quiet, quiet, red))
    assert (watch.lines, outcome.exit_code) == ([RED], 3)
    assert outcome.document["schema"] == "mergestorm.stack_watch/v1"
    assert outcome.document["blocker"] == "CI failed — style"


async def test_an_attention_without_a_place_says_none(watch: Watch, make: SimpleNamespace) -> None:
    unit = make.unit(landingBlockReason="gone")
    outcome = await watch(Story(make.stack(unit=unit)))
    assert outcome.exit_code == 3
    assert watch.lines[0].startswith("MS-WATCH ATTENTION pr=none head=none blocker=")
    assert watch.lines[0].endswith(" repair=land_pr_unavailable")


async def test_a_blocker_is_quoted_as_json_on_one_line(watch: Watch, make: SimpleNamespace) -> None:
    checks = {"failure": 1, "failingName": 'a "b"\nMS-WATCH LANDED stack=x \x1b[2J'}
    await watch(Story(make.stack(make.layer(checks=checks))))
    assert len(watch.lines) == 1
    assert "\n" not in watch.lines[0]
    assert watch.lines[0].count("MS-WATCH") == 1
    quoted = watch.lines[0].split(" blocker=", 1)[1].rsplit(" repair=", 1)[0]
    assert json.loads(quoted).startswith('CI failed — a "b" MS_WATCH LANDED')


async def test_a_landing_is_one_mark_a_message_and_exit_0(watch: Watch, landed: Any) -> None:
    outcome = await watch(Story(landed))
    assert (watch.marks, len(watch.lines), outcome.exit_code) == ([LANDED], 2, 0)
    assert outcome.document["watch"]["reason"] == "landed"


@pytest.mark.parametrize(
    ("reason", "fields", "stack"),
    [("closed", {"state": "closed"}, {}), ("archived", {}, {"archivedAt": "2026-11-01T00:00:00Z"})],
)
async def test_another_end_is_an_attention_with_a_message(
    watch: Watch, make: SimpleNamespace, reason: str, fields: dict[str, Any], stack: dict[str, Any]
) -> None:
    outcome = await watch(Story(make.stack(make.layer(**fields), **stack)))
    assert (watch.marks, outcome.exit_code) == ([f"MS-WATCH ATTENTION stack={ID} reason={reason}"], 3)
    assert watch.lines[1] == outcome.document["watch"]["message"]


# A stack that is no longer listed
def entry(**fields: Any) -> dict[str, Any]:
    return {
        "id": "q",
        "stackId": ID.upper(),
        "state": "landed",
        "landedPrNumbers": [],
        "verifyHeadSha": None,
        **fields,
    }


@pytest.mark.parametrize("fields", [{"landedPrNumbers": [7, 11]}, {"verifyHeadSha": HEAD[:12].upper()}])
async def test_a_vanished_stack_landed_if_its_entry_names_this_watch(
    watch: Watch, quiet: Any, fields: dict[str, Any]
) -> None:
    outcome = await watch(Story(quiet, None, landed=entry(**fields)))
    assert (watch.marks, outcome.exit_code) == ([LANDED], 0)
    assert outcome.document == {"stackId": ID, "outcome": "landed"}


async def test_a_pull_request_of_an_earlier_slice_counts(
    watch: Watch, quiet: Any, make: SimpleNamespace
) -> None:
    later = make.stack(make.layer(12))
    story = Story(*[quiet] * 9, *[later] * 20, None, landed=entry(landedPrNumbers=[11]))
    assert (await watch(story)).exit_code == 0


@pytest.mark.parametrize(
    "found",
    [
        None,
        entry(landedPrNumbers=[99]),
        entry(state="bounced", landedPrNumbers=[11]),
        entry(stackId="another", landedPrNumbers=[11]),
        entry(verifyHeadSha="f" * 40),
    ],
)
async def test_a_vanished_stack_without_such_an_entry_is_not_found(
    watch: Watch, quiet: Any, found: Any
) -> None:
    outcome = await watch(Story(quiet, None, landed=found))
    assert (watch.marks, outcome.exit_code) == ([f"MS-WATCH ATTENTION stack={ID} reason=not_found"], 3)


@pytest.mark.parametrize(
    "answer",
    [(500, {}, {}), (429, {}, {}), httpx.ConnectError("no"), (200, "text", {}), (200, {"landed": None}, {})],
)
async def test_a_landing_that_cannot_be_read_is_unconfirmed(watch: Watch, quiet: Any, answer: Any) -> None:
    outcome = await watch(Story(quiet, None, landed=failing(answer)))
    assert (watch.marks, outcome.exit_code) == (
        [f"MS-WATCH ATTENTION stack={ID} reason=landing_unconfirmed"],
        3,
    )


async def test_a_stack_that_never_was_is_not_found(watch: Watch) -> None:
    assert (await watch(Story(None, landed=None))).exit_code == 3
    assert watch.marks == [f"MS-WATCH ATTENTION stack={ID} reason=not_found"]


# Failures
async def test_a_permanent_error_is_tried_once_more_after_15_seconds(watch: Watch) -> None:
    story = Story(failing((403, {"error": "no"}, {})))
    outcome = await watch(story)
    assert outcome.exit_code == 3
    assert len(story.requests) == 2
    assert watch.clock.slept == [15]
    assert watch.marks[0].startswith(f"MS-WATCH ATTENTION failed stack={ID} error=")
    assert "403" in json.loads(watch.marks[0].split(" error=", 1)[1])


async def test_a_good_slice_forgives_a_permanent_error(watch: Watch, quiet: Any, landed: Any) -> None:
    refused = failing((403, {}, {}))
    slice_of_quiet = [quiet] * 8
    outcome = await watch(Story(refused, *slice_of_quiet, refused, *slice_of_quiet, refused, landed))
    assert outcome.exit_code == 0


async def test_passing_errors_are_tried_for_a_quarter_of_an_hour(watch: Watch) -> None:
    outcome = await watch(Story(failing((502, {}, {}))))
    assert outcome.exit_code == 3
    assert 15 <= watch.minutes < 17
    pauses = [pause for pause in watch.clock.slept if pause >= 15]
    assert pauses[:4] == [15, 30, 60, 60]
    assert set(pauses[2:]) == {60}


async def test_a_snapshot_that_is_missing_is_a_passing_error(watch: Watch, landed: Any) -> None:
    assert (await watch(Story(*[failing((200, {}, {}))] * 5, landed))).exit_code == 0


async def test_a_service_that_never_answers_is_given_up_after_a_while(watch: Watch) -> None:
    outcome = await watch(Story((0.0, None)))
    assert outcome.exit_code == 3
    assert watch.marks[0].startswith("MS-WATCH ATTENTION failed ")
    assert 15 <= watch.minutes < 30


@pytest.mark.parametrize(
    ("headers", "pause"), [({"Retry-After": "400"}, 400), ({"Retry-After": "0.2"}, 1), ({}, 30)]
)
async def test_rate_limits_are_waited_out_and_not_counted(
    watch: Watch, landed: Any, headers: dict[str, str], pause: float
) -> None:
    limited = failing((429, {}, headers))
    outcome = await watch(Story(*[limited] * 60, landed))
    assert outcome.exit_code == 0
    assert pause in watch.clock.slept or pause == 1


async def test_an_absurd_delay_is_cut_to_an_hour(watch: Watch, landed: Any) -> None:
    await watch(Story(failing((429, {}, {"Retry-After": "999999"})), landed))
    assert watch.clock.slept == [3600]


# The cursor
async def test_the_cursor_is_carried_from_slice_to_slice(
    watch: Watch, make: SimpleNamespace, quiet: Any, landed: Any
) -> None:
    bounce = make.entry("bounced", "merge_failed")
    outcome = await watch(Story(*[quiet] * 3, landed, entries=[bounce]), until="landed")
    assert outcome.document["cursor"]["bounceId"] == "e1"
    assert len(watch.marks) == 2  # the bounce once, though it was listed three times


async def test_a_given_head_is_enrolled(watch: Watch, quiet: Any) -> None:
    outcome = await watch(Story(quiet, None, landed=entry(verifyHeadSha="a" * 40)), head="aaaaaaa")
    assert outcome.exit_code == 0


# --until, --ignore, --max
async def test_until_landed_prints_each_new_attention_once(
    watch: Watch, quiet: Any, red: Any, draft: Any, landed: Any
) -> None:
    outcome = await watch(Story(red, red, draft, red, quiet, draft, landed), until="landed")
    assert (watch.marks, outcome.exit_code) == ([RED, DRAFT, LANDED], 0)


async def test_a_pause_of_30_seconds_follows_an_answer(watch: Watch, red: Any, landed: Any) -> None:
    await watch(Story(red, red, landed), until="landed")
    assert watch.clock.slept == [30, 30]


async def test_a_new_head_is_a_new_attention(
    watch: Watch, make: SimpleNamespace, draft: Any, landed: Any
) -> None:
    moved = make.stack(make.layer(draft=True, headSha="e" * 40))
    await watch(Story(draft, moved, landed), until="landed")
    assert len(watch.marks) == 3


async def test_elapsed_minutes_make_no_new_attention(
    watch: Watch, make: SimpleNamespace, landed: Any
) -> None:
    stuck = [make.stack(make.layer(), **make.wait("stack_dirty", minutes)) for minutes in (50, 51, 52, 75)]
    await watch(Story(*stuck, landed), until="landed")
    assert len(watch.marks) == 2


async def test_an_ignored_attention_is_passed_over_until_it_changes(
    watch: Watch, make: SimpleNamespace, red: Any
) -> None:
    moved = make.stack(make.layer(ciStatus="failure", headSha="e" * 40))
    outcome = await watch(Story(red, red, red, moved), ignore=("ci FAILED",))
    assert (len(watch.marks), outcome.exit_code) == (1, 3)
    assert f"head={'e' * 40}" in watch.marks[0]


async def test_only_the_first_match_is_ignored(watch: Watch, red: Any, draft: Any) -> None:
    outcome = await watch(Story(red, draft, red), ignore=("ci failed", "no such thing", "  "))
    assert (watch.marks, outcome.exit_code) == ([DRAFT], 3)


async def test_an_ignored_attention_that_returns_after_a_change_is_told(
    watch: Watch, red: Any, draft: Any
) -> None:
    await watch(Story(red, draft, red, red, *[draft] * 2), ignore=("ci failed", "draft"))
    assert watch.marks == [RED]


async def test_minutes_do_not_end_an_ignored_attention(
    watch: Watch, make: SimpleNamespace, landed: Any
) -> None:
    stuck = [make.stack(make.layer(), **make.wait("stack_dirty", minutes)) for minutes in (50, 51, 75)]
    await watch(Story(*stuck, landed), ignore=("auto land has waited",))
    assert watch.marks == [LANDED]


async def test_the_most_minutes_are_kept(watch: Watch, quiet: Any) -> None:
    outcome = await watch(Story(quiet), max_minutes=12)
    assert (watch.lines, outcome.exit_code) == ([f"MS-WATCH TIMEOUT stack={ID} after=12m"], 5)
    assert 12 <= watch.minutes < 12.2
    assert outcome.document == {"stackId": ID, "outcome": "timeout"}


@pytest.mark.parametrize("answer", [(503, {}, {}), (429, {}, {"Retry-After": "900"}), (403, {}, {})])
async def test_the_most_minutes_are_kept_in_pauses_too(watch: Watch, answer: Any) -> None:
    outcome = await watch(Story(failing(answer)), max_minutes=0.2)
    assert (watch.marks, outcome.exit_code) == ([f"MS-WATCH TIMEOUT stack={ID} after=0.2m"], 5)


async def test_a_minute_without_one_answer_is_a_timeout_and_no_attention(watch: Watch) -> None:
    outcome = await watch(Story((0.0, None)), max_minutes=1)
    assert (watch.marks, outcome.exit_code) == ([f"MS-WATCH TIMEOUT stack={ID} after=1m"], 5)


async def test_what_was_told_is_remembered_within_bounds(
    watch: Watch, make: SimpleNamespace, landed: Any
) -> None:
    moving = [make.stack(make.layer(draft=True, headSha=f"{number:040x}")) for number in range(300)]
    await watch(Story(*moving, moving[-1], moving[0], landed), until="landed")
    assert len(watch.marks) == 300 + 1 + 1  # the first head was forgotten, and is told again


# Stopping
async def test_a_stopped_watch_says_nothing(watch: Watch, quiet: Any) -> None:
    stop, story = anyio.Event(), Story(quiet)
    story.at_snapshot = lambda number: stop.set() if number == 9 else None
    outcome = await watch(story, stop)
    assert (watch.lines, outcome.exit_code) == ([], 130)
    assert outcome.document == {"stackId": ID, "outcome": "aborted"}


async def test_a_watch_that_ends_by_itself_needs_no_stop(watch: Watch, landed: Any) -> None:
    assert (await watch(Story(landed), anyio.Event())).exit_code == 0


async def test_what_goes_wrong_with_printing_reaches_the_caller(simulated: Simulated, red: Any) -> None:
    api, clock, _ = simulated(Story(red))

    def closed(_line: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await watch_loop(ApiStackReader(api), ID, LoopOptions(), clock=clock, say=closed, stop=anyio.Event())


async def test_eight_hours_of_silence_leave_nothing_behind(watch: Watch, quiet: Any, landed: Any) -> None:
    outcome = await watch(Story(*[quiet] * 800, landed))
    assert (watch.marks, outcome.exit_code) == ([LANDED], 0)
    assert watch.minutes > 8 * 60
