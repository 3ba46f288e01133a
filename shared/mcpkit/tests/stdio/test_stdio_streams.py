from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from mcpkit.stdio.streams import Outbox, Wire, read_some, write_all
from mcpkit.stdio.watch import Watch

Eventually = Callable[[Callable[[], bool]], None]

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot poll pipes")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass  # closed by the test


def started(outbox: Outbox) -> threading.Thread:
    thread = threading.Thread(target=outbox.run, daemon=True)
    thread.start()
    return thread


@on_posix
def test_a_message_larger_than_the_pipe_is_written_whole_even_where_the_pipe_does_not_block(
    pipe: tuple[int, int],
) -> None:
    reading, writing = pipe
    os.set_blocking(writing, False)
    data = os.urandom(1_000_000)
    thread = threading.Thread(target=write_all, args=(writing, data))
    thread.start()
    received = b""
    while len(received) < len(data):
        received += os.read(reading, 70_000)
    thread.join()
    assert received == data


@on_posix
def test_reading_waits_where_the_pipe_does_not_block(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.set_blocking(reading, False)
    received: list[bytes] = []
    thread = threading.Thread(target=lambda: received.append(read_some(reading)))
    thread.start()
    os.write(writing, b"x")
    thread.join()
    assert received == [b"x"]
    os.close(writing)
    assert read_some(reading) == b""


def test_a_broken_input_is_an_ended_input(pipe: tuple[int, int]) -> None:
    reading, _ = pipe
    os.close(reading)
    assert read_some(reading) == b""


def test_lines_are_written_in_order_each_with_its_newline() -> None:
    written: list[bytes] = []
    outbox = Outbox(written.append, lambda: None)
    for line in (b"1", b"2", b"3"):
        outbox.put(line)
    started(outbox)
    assert outbox.flush(60.0)
    assert written == [b"1\n", b"2\n", b"3\n"]


def test_a_client_that_does_not_read_fills_the_box_and_gets_room_when_it_reads(
    eventually: Eventually,
) -> None:
    reading, read, room = threading.Event(), threading.Event(), threading.Event()

    def write(_line: bytes) -> None:
        read.set()
        reading.wait()

    outbox = Outbox(write, lambda: None, limit=10)
    outbox.on_room = room.set
    started(outbox)
    assert outbox.offer(b"x" * 50)  # longer than the limit, alone
    read.wait()
    assert not outbox.offer(b"y")
    assert not outbox.flush(0.0)
    waiting = threading.Thread(target=outbox.put, args=(b"y",))
    waiting.start()
    reading.set()
    room.wait()
    waiting.join()
    assert outbox.flush(60.0)


def test_a_client_that_is_gone_is_reported_once_and_holds_nobody_up(eventually: Eventually) -> None:
    gone: list[str] = []

    def write(_line: bytes) -> None:
        raise BrokenPipeError

    outbox = Outbox(write, lambda: gone.append("gone"), limit=10)
    thread = started(outbox)
    outbox.put(b"x" * 50)
    thread.join()
    outbox.put(b"y" * 50)
    outbox.put(b"z" * 50)
    assert outbox.flush(60.0)
    assert gone == ["gone"]


@on_posix
def test_hang_ups_are_told_once_and_do_not_make_the_watch_spin(pipe: tuple[int, int]) -> None:
    from_client, client_out = os.pipe()
    client_in, to_client = pipe
    watch = Watch(Wire(from_client, to_client))
    quiet = watch.wait(0.0)
    assert not (quiet.input_closed)
    assert not (quiet.output_closed)
    assert not (quiet.parent_died)
    os.write(client_out, b"unread")
    os.close(client_out)
    assert watch.wait(60.0).input_closed
    os.close(client_in)
    assert watch.wait(60.0).output_closed
    again = watch.wait(0.0)
    assert not (again.input_closed)
    assert not (again.output_closed)
    os.close(from_client)


@on_posix
def test_the_other_end_of_a_socket_is_watched_too() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watch = Watch(Wire(ours.fileno(), ours.dup().detach()))
        theirs.shutdown(socket.SHUT_WR)  # a client that will send no more but still reads
        assert not watch.wait(0.0).output_closed
        theirs.close()
        assert watch.wait(60.0).output_closed


@on_posix
def test_a_ring_ends_the_wait_and_a_full_bell_is_no_error(pipe: tuple[int, int]) -> None:
    watch = Watch(Wire(*pipe))
    for _ in range(100_000):
        watch.ring()
    assert watch.wait(60.0).signals == []


@on_posix
def test_a_signal_is_news_with_its_number(pipe: tuple[int, int]) -> None:
    watch = Watch(Wire(*pipe))
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        watch.install()
        os.kill(os.getpid(), signal.SIGTERM)
        assert watch.wait(60.0).signals == [signal.SIGTERM]
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
