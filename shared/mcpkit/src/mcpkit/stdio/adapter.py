"""Runs a session: the threads that read, write and watch, the server on the main thread, and the end of the process."""

from __future__ import annotations

import gc
import os
import sys
import threading
from time import monotonic

from mcpkit.isolation import seal_settings
from mcpkit.messages import parse
from mcpkit.stdio.clock import GRACE, TOTAL, ShutdownClock
from mcpkit.stdio.framing import LineSplitter
from mcpkit.stdio.session import Session
from mcpkit.stdio.streams import Outbox, read_some, take_over, write_all
from mcpkit.stdio.watch import News, Watch
from mcpkit.surface import Surface

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from fastmcp import FastMCP

    from mcpkit.messages import TooLong
    from mcpkit.stdio.bridge import Bridge
    from mcpkit.stdio.streams import Wire

__all__ = ["run", "serve"]

_TICK = 0.5  # seconds between looks at the parent process
_PARTING = 1.0  # seconds for what can still be done once the client is gone or the time is up
_STARTUP_FAILED = 1


def serve(
    load: Callable[[], FastMCP[Any]],
    *,
    surface: Surface | None = None,
    grace: float = GRACE,
    total: float = TOTAL,
    linger: float = 1.0,
) -> int:
    """Serve one client over stdin and stdout until it leaves or a signal comes. Call it on the main thread.

    Takes the standard streams over at once, answers what it can from `surface`, and calls `load` meanwhile. Do a
    server's own checks (arguments, configuration) before: nothing is read or answered until this is called. FastMCP's
    settings are sealed (`mcpkit.isolation`) before `load`. At a terminal it says on stderr that it waits for a client.

    An ending process leaves behind whatever does not stop in time: this function returns only if nothing is left,
    else it flushes and ends the process itself.

    Args:
        load: imports and builds the server; may take its time.
        surface: the server's recorded answers; without it the handshake waits for `load`.
        grace: seconds that calls in flight have at the end of input or on a signal, from when the server is ready.
        total: seconds that the end may take in all.
        linger: seconds for which requests are still answered `startup_failed` after `load` has failed.

    Returns:
        The exit code: 0, or 1 if the server could not start or broke down. A second signal ends the process at once
        with 128 plus its number.
    """
    _greet_a_person()
    try:
        wire = take_over()
    except OSError:
        return 0  # nobody to talk to
    return _Adapter(wire, Session(surface), ShutdownClock(grace, total)).run(load, linger)


def run(target: str, *, surface: str | os.PathLike[str] | None = None) -> int:
    """Serve an existing FastMCP server: `run("package.module:app", surface="surface.json")`.

    The server gets structured errors and a silent stderr as well (`mcpkit.server.harden`).

    Args:
        target: module and attribute, which is the server or a function that builds it.
        surface: path of its snapshot (`mcpkit.surface`).

    Returns:
        The exit code; see `serve`.

    Raises:
        ValueError: `target` is not of the form `package.module:name`, or the snapshot is not one.
        OSError: the snapshot cannot be read.
    """
    module, _, name = target.partition(":")
    if not module or not name:
        raise ValueError("the target must have the form package.module:name")

    def load() -> FastMCP[Any]:
        from importlib import import_module

        found = getattr(import_module(module), name)
        from fastmcp import FastMCP

        from mcpkit.server import harden

        return harden(found if isinstance(found, FastMCP) else found())

    return serve(load, surface=None if surface is None else Surface.load(os.fspath(surface)))


def _greet_a_person() -> None:
    """Tell somebody who started the server in a terminal why nothing happens; a client's pipe is told nothing."""
    if not (os.isatty(0) and os.isatty(2)):
        return
    name = os.path.basename(sys.argv[0]) if sys.argv else "This server"
    words = f"{name}: waiting for an MCP client on standard input. A client starts this program by itself; Ctrl+C ends it.\n"
    try:
        os.write(2, words.encode("utf-8", "backslashreplace"))
    except OSError:
        return


class _Adapter:
    def __init__(self, wire: Wire, session: Session, clock: ShutdownClock) -> None:
        self._wire = wire
        self._session = session
        self._clock = clock
        self._watch = Watch(wire)
        self._outbox = Outbox(lambda line: write_all(wire.output, line), self._client_left)
        self._bridge: Bridge | None = None
        self._code = 0
        self._started = False
        self._over = False  # the main thread sees to the end itself
        self._client_gone = False
        self._input_ended = threading.Event()

    def run(self, load: Callable[[], FastMCP[Any]], linger: float) -> int:
        if threading.current_thread() is threading.main_thread():
            self._watch.install()
        for name, work in (("write", self._outbox.run), ("read", self._read), ("watch", self._look_out)):
            threading.Thread(target=work, name=f"mcpkit-stdio-{name}", daemon=True).start()
        try:
            self._serve(load)
        except BaseException as error:  # noqa: BLE001 - SystemExit at import, too: a request may be waiting
            self._break_down(error, linger)
        self._over = True
        self._outbox.flush(self._time_left())
        if any(
            not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
        ):
            self._leave(self._code)  # the interpreter would wait for them
        return self._code

    # --- the main thread ---

    def _serve(self, load: Callable[[], FastMCP[Any]]) -> None:
        seal_settings()
        # An import leaves next to no garbage, but looking for it takes a tenth of FastMCP's; and a first look after it
        # would delay the first call, so what was imported is set aside for good.
        collecting = gc.isenabled()
        gc.disable()
        try:
            app = load()
            from mcpkit.stdio.bridge import Bridge  # loads FastMCP, which `load` has done by now
        finally:
            if collecting:
                gc.freeze()
                gc.enable()
        self._bridge = Bridge(app, self._session, self._outbox, self._ready)
        self._watch.ring()
        self._bridge.run()

    def _ready(self) -> None:
        self._started = True
        self._clock.ready(monotonic())

    def _break_down(self, error: BaseException, linger: float) -> None:
        self._code = _STARTUP_FAILED
        self._over = True
        _complain("the server broke down" if self._started else "the server could not start", error)
        kind = "internal_error" if self._started else "startup_failed"
        for line in self._session.fail_all(kind):
            self._outbox.offer(line)
        self._input_ended.wait(linger)

    # --- the reading thread ---

    def _read(self) -> None:
        splitter = LineSplitter()
        try:
            while chunk := read_some(self._wire.input):
                self._receive(splitter.feed(chunk))
            self._receive(splitter.finish())
        finally:  # also out of memory: a session that cannot be read must not stay
            self._clock.close(monotonic())
            self._input_ended.set()
            self._watch.ring()

    def _receive(self, lines: list[bytes | TooLong]) -> None:
        for line in lines:
            message = parse(line)
            if message is not None:
                for answer in self._session.receive(message):
                    self._outbox.put(answer)

    # --- the watching thread ---

    def _look_out(self) -> None:
        signals = 0
        while True:
            left = self._time_left(default=_TICK)
            news = self._watch.wait(min(left, _TICK))
            for number in news.signals:
                signals += 1
                if signals > 1:
                    self._abandon(128 + number)
                self._session.refuse("shutting_down")
                self._clock.close(monotonic())
            self._look_at(news)
            deadline = self._clock.deadline()
            if deadline is not None and monotonic() >= deadline:
                self._abandon(self._code)
            if self._clock.closing and not self._session.owes:
                self._end()

    def _look_at(self, news: News) -> None:
        if news.output_closed or news.parent_died:
            self._client_left()
        if news.input_closed:
            # Nobody will write any more. What is in the pipe is still read, unless the client reads nothing either.
            self._clock.hurry(monotonic(), self._clock.total)

    def _client_left(self) -> None:
        if not self._client_gone:
            self._client_gone = True
            self._session.fail_all("shutting_down")
            now = monotonic()
            self._clock.close(now)
            self._clock.hurry(now, _PARTING)
            self._watch.ring()

    def _end(self) -> None:
        """Everything is answered: end the server's session, or the process if it is still being imported."""
        if self._over:
            return
        if self._bridge is not None:
            self._bridge.stop()
        else:
            self._outbox.flush(self._time_left())
            self._leave(self._code)

    def _abandon(self, code: int) -> NoReturn:
        """The time is up: say so to those who wait, and leave behind what still runs."""
        for line in self._session.fail_all("shutting_down"):
            self._outbox.offer(line)
        self._outbox.flush(_PARTING)
        self._leave(code)

    def _time_left(self, default: float = GRACE) -> float:
        deadline = self._clock.deadline()
        return default if deadline is None else deadline - monotonic()

    def _leave(self, code: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass  # closed, or nobody reads it
        os._exit(code)


def _complain(what: str, error: BaseException) -> None:
    """One line on stderr, with the place in the code: a traceback would bury it."""
    text = " ".join(str(error).split())[:500]
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<frozen "):  # the import system itself
            place = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    try:
        sys.stderr.write(f"{what}: {type(error).__name__}: {text}{place}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # no stderr
