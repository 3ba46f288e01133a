"""Start git, bound what it may take, and leave no process behind.

Each process leads its own group (POSIX), so that a deadline or a cancellation ends it with everything it started. Output
is collected by threads, because only threads can wait for pipes on every platform; the calling thread watches the clock.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final, cast

from mcpkit.git.environment import MINIMUM_GIT_VERSION, hermetic_environment, hermetic_switches
from mcpkit.git.errors import GitError, GitErrorKind
from mcpkit.threads import CancelCheck

#: How often a cancellation is looked for, in seconds.
POLL_SECONDS: Final = 0.05
_STDERR_KEPT: Final = 16 * 1024
_CHUNK: Final = 1 << 16
# How long the pipes of a killed process are waited for before they are given up.
_AFTERMATH_SECONDS: Final = 5.0
_WINDOWS: Final = sys.platform == "win32"

_Popen = Callable[..., "subprocess.Popen[bytes]"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one git process may take.

    Attributes:
        timeout: seconds for one command, or for one object of a batch.
        output_bytes: bytes one command may answer.
        entries: entries of one listing (tree, difference, history).
    """

    timeout: float = 30.0
    output_bytes: int = 256 << 20
    entries: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Completed:
    """What a finished git process answered."""

    code: int
    output: bytes
    errors: str


class Child:
    """A running git process; ended with its whole group by `stop`, at the latest by `close`."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        feed: bool = False,
    ) -> None:
        executable = find_git()
        popen = _process_starter(executable)
        self.stopped: GitErrorKind | None = None
        self._lock = threading.Lock()
        grouping = {} if _WINDOWS else {"start_new_session": True}
        try:
            self.process = popen(
                [executable, *hermetic_switches(), *arguments],
                stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=hermetic_environment(environment),
                cwd=directory or _neutral_directory(),
                **grouping,
            )
        except FileNotFoundError as error:
            raise GitError("git_missing") from error
        except (OSError, ValueError) as error:
            raise GitError("git_failed", detail=type(error).__name__) from error
        self._errors = bytearray()
        self._pumps: list[threading.Thread] = []
        try:
            self._error_pump = self.pump(self._collect_errors)
        except BaseException:  # no thread to be had: then no process either
            self.stop("git_failed")
            self.process.wait()
            raise

    @property
    def output(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    @property
    def input(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdin)

    def errors(self) -> str:
        """What git said on stderr so far, cut to a few lines; for logs, never for a client."""
        return bytes(self._errors).decode("utf-8", "backslashreplace").strip()

    def last_words(self) -> str:
        """What git said on stderr, once it has closed that; `errors` if it does not do so soon."""
        self._error_pump.join(_AFTERMATH_SECONDS)
        return self.errors()

    def pump(self, target: Callable[[], None]) -> threading.Thread:
        """Start a thread that serves one of the pipes; `close` waits for it."""
        thread = threading.Thread(target=target, name="mcpkit-git", daemon=True)
        self._pumps.append(thread)
        thread.start()
        return thread

    def stop(self, why: GitErrorKind) -> None:
        """End the process and all it started, at once."""
        with self._lock:
            # Not yet waited for, so the number still belongs to it.
            if self.process.returncode is None:
                self.stopped = self.stopped or why
                _kill_group(self.process)

    def wait(self, seconds: float) -> int:
        """Exit code; a process that does not end in time is stopped.

        Raises:
            GitError: `timeout`, or why it was stopped before.
        """
        try:
            code = self.process.wait(max(seconds, 0.001))
        except subprocess.TimeoutExpired:
            self.stop("timeout")
            code = self.process.wait()
        self._error_pump.join(_AFTERMATH_SECONDS)
        if self.stopped is not None:
            raise GitError(self.stopped, detail=self.errors())
        return code

    def close(self) -> None:
        """Leave nothing running and nothing open."""
        self.stop("cancelled")
        self.process.wait()
        deadline = time.monotonic() + _AFTERMATH_SECONDS
        for pump in self._pumps:
            pump.join(max(deadline - time.monotonic(), 0))
        if any(pump.is_alive() for pump in self._pumps):
            return  # someone else holds the pipes; a closed number could be handed out again under the thread
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):  # what was not yet written is lost on purpose
                    stream.close()

    def _collect_errors(self) -> None:
        stream = cast("IO[bytes]", self.process.stderr)
        with contextlib.suppress(OSError, ValueError), stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                self._errors += chunk[: _STDERR_KEPT - len(self._errors)]


def run_git(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    data: bytes | None = None,
    limits: Limits | None = None,
    cancel: CancelCheck | None = None,
) -> Completed:
    """Run one git command to its end.

    Args:
        arguments: subcommand and its arguments; what comes from users was checked before.
        environment: variables beside the hermetic ones, e.g. `GIT_DIR`.
        data: bytes for its standard input.
        limits: seconds and bytes it may take.
        cancel: asked every 50 ms.

    Raises:
        GitError: `timeout`, `cancelled`, `output_too_large`, `git_missing` or `gitpython_missing`. A failing command is
            an answer, not an error: see `Completed.code`.
    """
    limits = limits or Limits()
    if cancel is not None and cancel():
        raise GitError("cancelled")
    deadline = time.monotonic() + limits.timeout
    child = Child(arguments, environment=environment, feed=data is not None)
    try:
        answer = bytearray()
        too_large = threading.Event()

        def collect() -> None:
            with contextlib.suppress(OSError, ValueError):
                while chunk := os.read(child.output.fileno(), _CHUNK):
                    if len(answer) + len(chunk) > limits.output_bytes:
                        too_large.set()
                        return
                    answer.extend(chunk)

        def feed() -> None:
            with contextlib.suppress(OSError, ValueError), child.input:  # git may stop reading
                child.input.write(data or b"")

        pumps = [child.pump(collect)]
        if data is not None:
            pumps.append(child.pump(feed))
        for pump in pumps:
            while pump.is_alive():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _stopped(child, "timeout")
                if cancel is not None and cancel():
                    raise _stopped(child, "cancelled")
                pump.join(min(left, POLL_SECONDS) if cancel is not None else left)
            if too_large.is_set():
                raise _stopped(child, "output_too_large")
        code = child.wait(deadline - time.monotonic())
        return Completed(code, bytes(answer), child.errors())
    finally:
        child.close()


def git_version() -> tuple[int, ...]:
    """Version of the git in use, e.g. `(2, 39, 5)`.

    Raises:
        GitError: `git_missing`, `git_too_old`, `gitpython_missing`.
    """
    return _version_of(find_git())


@functools.lru_cache(maxsize=8)
def _version_of(_executable: str) -> tuple[int, ...]:
    answer = run_git(["version"], limits=Limits(timeout=30, output_bytes=4096))
    found = re.match(rb"git version (\d+)\.(\d+)(?:\.(\d+))?", answer.output)
    if answer.code != 0 or found is None:
        raise GitError("git_missing", "the git on PATH does not work; install git", detail=answer.errors)
    version = tuple(int(part) for part in found.groups() if part is not None)
    if version < MINIMUM_GIT_VERSION:
        wanted = ".".join(str(part) for part in MINIMUM_GIT_VERSION)
        raise GitError("git_too_old", f"git {wanted} or newer is needed; update git")
    return version


def find_git() -> str:
    """Absolute path of git: what `GIT_PYTHON_GIT_EXECUTABLE` names, else the first on PATH.

    Relative directories on PATH are passed over: they would name a program in a checkout.

    Raises:
        GitError: `git_missing`.
    """
    return _find_git(os.environ.get("GIT_PYTHON_GIT_EXECUTABLE", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _find_git(chosen: str, search: str) -> str:
    if os.path.isabs(chosen):
        return chosen
    name = "git.exe" if _WINDOWS else "git"
    for directory in search.split(os.pathsep):
        candidate = os.path.join(directory, name)
        if os.path.isabs(directory) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise GitError("git_missing")


_import_lock = threading.Lock()
_starter: _Popen | None = None


def _process_starter(executable: str) -> _Popen:
    """GitPython's way to start a process, imported at first use: it costs a start-up more than all the rest here."""
    global _starter  # noqa: PLW0603 - one import for the whole process
    with _import_lock:
        if _starter is None:
            with _told_to_gitpython(executable):
                try:
                    from git.cmd import safer_popen
                except ImportError as error:
                    raise GitError("gitpython_missing") from error
            _starter = cast("_Popen", safer_popen)
        return _starter


@contextlib.contextmanager
def _told_to_gitpython(executable: str) -> Iterator[None]:
    # GitPython asks git for its version while it is imported: it shall ask this git, and not complain.
    told = {"GIT_PYTHON_REFRESH": "quiet", "GIT_PYTHON_GIT_EXECUTABLE": executable}
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _neutral_directory() -> str:
    """Where git is started: the root directory, which lies inside no work tree and gives no path a prefix."""
    return os.path.abspath(os.sep)


def _stopped(child: Child, why: GitErrorKind) -> GitError:
    child.stop(why)
    return GitError(why, detail=child.errors())


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        # git.exe is a wrapper there; its child does the work and would survive it.
        system = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - absolute path, own process id
                [system, "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False, timeout=10
            )
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
