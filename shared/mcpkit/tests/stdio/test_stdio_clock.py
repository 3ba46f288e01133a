from __future__ import annotations

from mcpkit.stdio.clock import ShutdownClock


def test_nothing_ends_before_the_session_closes() -> None:
    clock = ShutdownClock()
    clock.ready(1.0)
    assert not clock.closing
    assert clock.deadline() is None


def test_calls_have_five_seconds_from_the_end_of_input_when_the_server_is_ready() -> None:
    clock = ShutdownClock()
    clock.ready(1.0)
    clock.close(100.0)
    assert clock.closing
    assert clock.deadline() == 105.0


def test_while_the_server_starts_there_are_thirty_seconds_and_five_from_its_readiness() -> None:
    clock = ShutdownClock()
    clock.close(100.0)
    assert clock.deadline() == 130.0
    clock.ready(110.0)
    assert clock.deadline() == 115.0


def test_a_late_readiness_does_not_extend_the_thirty_seconds() -> None:
    clock = ShutdownClock()
    clock.close(100.0)
    clock.ready(128.0)
    assert clock.deadline() == 130.0


def test_only_the_first_close_and_the_first_readiness_count() -> None:
    clock = ShutdownClock()
    clock.ready(1.0)
    clock.ready(200.0)
    clock.close(100.0)
    clock.close(104.0)
    assert clock.deadline() == 105.0


def test_a_hurry_only_ever_shortens_the_time() -> None:
    clock = ShutdownClock()
    clock.ready(1.0)
    clock.hurry(50.0, within=60.0)
    assert clock.deadline() == 110.0
    clock.close(100.0)
    assert clock.deadline() == 105.0
    clock.hurry(101.0, within=1.0)
    clock.hurry(101.0, within=9.0)
    assert clock.deadline() == 102.0
