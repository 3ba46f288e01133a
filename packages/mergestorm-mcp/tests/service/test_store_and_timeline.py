"""What is kept, what is due, and who is woken."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.changes import Changes
from mergestorm_mcp.service.pace import ManualClock, Pace, iso, parse_iso
from mergestorm_mcp.service.store import Store, StoreError
from mergestorm_mcp.service.timeline import cancel, schedule
from mergestorm_mcp.service.world import World

TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY);"


def names(store: Store) -> list[str]:
    with store.read() as connection:
        return [row["name"] for row in connection.execute("SELECT name FROM things ORDER BY name")]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    made = Store(tmp_path / "one.sqlite")
    made.create([TABLE])
    yield made
    made.close()


def test_a_write_that_raises_leaves_nothing(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError), store.write() as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [("half",), ("half",)])
    assert names(store) == []
    with store.write() as connection:
        connection.execute("INSERT INTO things VALUES ('whole')")
    assert names(store) == ["whole"]


def test_a_reader_sees_one_moment_and_cannot_write(store: Store) -> None:
    with store.read() as reading:
        assert reading.execute("SELECT count(*) FROM things").fetchone()[0] == 0
        with store.write() as connection:
            connection.execute("INSERT INTO things VALUES ('later')")
        assert reading.execute("SELECT count(*) FROM things").fetchone()[0] == 0
        with pytest.raises(sqlite3.OperationalError):
            reading.execute("INSERT INTO things VALUES ('never')")
    assert names(store) == ["later"]


def test_a_write_inside_a_write_is_a_mistake_and_not_a_deadlock(store: Store) -> None:
    with store.write(), pytest.raises(RuntimeError), store.write():
        pass
    with store.write() as connection:
        connection.execute("INSERT INTO things VALUES ('after')")
    assert names(store) == ["after"]


def test_only_writes_that_change_something_are_told(tmp_path: Path) -> None:
    told: list[int] = []
    store = Store(tmp_path / "two.sqlite", on_commit=lambda: told.append(1))
    store.create([TABLE])
    with store.write() as connection:
        connection.execute("DELETE FROM things")
    assert told == []
    with store.write() as connection:
        connection.execute("INSERT INTO things VALUES ('x')")
    assert told == [1]
    store.close()


def test_a_file_of_another_version_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "three.sqlite")
    store.create([TABLE], version=1)
    with pytest.raises(StoreError):
        store.create([TABLE], version=2)
    store.close()
    with pytest.raises(StoreError):
        store.read().__enter__()
    other = tmp_path / "not.sqlite"
    other.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        Store(other)
    with pytest.raises(StoreError):
        Store(tmp_path)


def test_times_are_written_with_milliseconds_and_read_back() -> None:
    clock = ManualClock()
    pace = Pace(clock, scale=10)
    assert iso(pace.now()) == "2026-01-02T03:04:05.000Z"
    assert pace.after(20) - pace.now() == timedelta(seconds=2)
    assert parse_iso(iso(pace.now())) == pace.now()
    for scale in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="scale"):
            Pace(clock, scale)


def at(world: World, seconds: float, kind: str, **payload: Any) -> int:
    with world.store.write() as connection:
        return schedule(connection, kind, payload, world.pace.after(seconds))


def test_events_happen_in_order_once_they_are_due(world: World) -> None:
    seen: list[str] = []
    world.timeline.register("note", lambda _world, _connection, payload: seen.append(payload["word"]))
    at(world, 20, "note", word="second")
    at(world, 10, "note", word="first")
    gone = at(world, 15, "note", word="cancelled")
    with world.store.write() as connection:
        assert cancel(connection, gone, world.pace.now())
        assert not cancel(connection, gone, world.pace.now())
    assert world.timeline.run_due(world) == 0
    clock = world.pace.clock
    assert isinstance(clock, ManualClock)
    assert world.timeline.next_due(world) == world.pace.after(10)
    clock.advance(30)
    assert world.timeline.run_due(world) == 2
    assert seen == ["first", "second"]
    assert world.timeline.run_due(world) == 0
    assert world.timeline.next_due(world) is None


def test_an_event_that_fails_leaves_nothing_is_tried_again_and_does_not_hold_up_others(world: World) -> None:
    attempts: list[int] = []

    def fails(_world: World, connection: sqlite3.Connection, _payload: dict[str, Any]) -> None:
        attempts.append(1)
        connection.execute("INSERT INTO dials VALUES ('half', '1')")
        raise ValueError("no")

    seen: list[int] = []
    world.timeline.register("bad", fails)
    world.timeline.register("good", lambda *_: seen.append(1))
    at(world, 0, "bad")
    at(world, 0, "good")
    at(world, 0, "unknown")
    world.timeline.run_due(world)
    assert seen == [1]
    clock = world.pace.clock
    assert isinstance(clock, ManualClock)
    for _ in range(20):
        clock.advance(60)
        world.timeline.run_due(world)
    assert len(attempts) == 5
    with world.store.read() as connection:
        assert connection.execute("SELECT count(*) FROM dials").fetchone()[0] == 0
        rows = connection.execute(
            "SELECT kind, failure FROM timeline WHERE failure IS NOT NULL ORDER BY kind"
        ).fetchall()
    assert [(row["kind"], row["failure"].partition(":")[0]) for row in rows] == [
        ("bad", "ValueError"),
        ("unknown", "LookupError"),
    ]


def test_what_was_due_is_still_due_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    first = build(tmp_path / "kept", Pace(clock))
    at(first, 5, "note")
    first.store.close()
    second = build(tmp_path / "kept", Pace(clock))
    seen: list[int] = []
    second.timeline.register("note", lambda *_: seen.append(1))
    clock.advance(6)
    assert second.timeline.run_due(second) == 1
    assert seen == [1]
    second.store.close()


def test_the_loop_wakes_for_what_is_scheduled_while_it_sleeps(world: World) -> None:
    seen = asyncio.Event()

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        world.timeline.register("note", lambda *_: loop.call_soon_threadsafe(seen.set))
        running = asyncio.create_task(world.timeline.run(world))
        await asyncio.to_thread(at, world, 0, "note")
        async with asyncio.timeout(10):
            await seen.wait()
            world.changes.close()
            await running

    world.store.on_commit = world.changes.notify
    asyncio.run(scenario())


def test_a_wait_ends_with_a_write_with_its_time_and_with_the_service() -> None:
    async def scenario() -> None:
        changes = Changes()
        assert await changes.wait(changes.version, 0.01) == 0
        waiting = asyncio.create_task(changes.wait(0, 60))
        await asyncio.sleep(0)
        await asyncio.to_thread(changes.notify)
        async with asyncio.timeout(10):
            assert await waiting == 1
        assert await changes.wait(0, 60) == 1, "what was written before the wait ends it at once"
        last = asyncio.create_task(changes.wait(1, 60))
        await asyncio.sleep(0)
        changes.close()
        async with asyncio.timeout(10):
            assert await last == 2
            await changes.wait(2, 60)

    asyncio.run(scenario())


def test_a_waiter_whose_loop_has_ended_is_no_trouble() -> None:
    changes = Changes()
    loop = asyncio.new_event_loop()
    task = loop.create_task(changes.wait(0, 60))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    changes.notify()
    assert changes.version == 1
