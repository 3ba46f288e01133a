"""Many objects through one `git cat-file --batch`.

git answers each id with a header that tells type and size, then the content. So a content that is too large is known
before it is read: a moderate one is drained in pieces, a large one is left in a process that is ended and replaced.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Final, NamedTuple, Self

from mcpkit.git.errors import GitError
from mcpkit.git.objects import check_oid
from mcpkit.git.process import POLL_SECONDS, Child
from mcpkit.threads import CancelCheck

#: Default for the largest object that is read into memory.
DEFAULT_MAX_BYTES: Final = 64 << 20
# Requests sent ahead of the answers: few enough that the pipe takes them all while git waits for us to read.
_AHEAD: Final = 32
# Below this, reading what nobody wants is cheaper than a new process.
_DRAIN_BYTES: Final = 4 << 20
_CHUNK: Final = 1 << 16
_HEADER_BYTES: Final = 4096


class ObjectHeader(NamedTuple):
    """Type (`blob`, `tree`, `commit`, `tag`) and size in bytes of an object."""

    type: str
    size: int


class BlobReader:
    """Reads objects by full id; a context manager that holds at most two git processes, started when needed.

    One thread at a time. Ids must be full: a short one could mean another object tomorrow. A missing object is an error
    and is never fetched.

    Args:
        environment: names the repository, see `Repository.blobs`.
        object_format: `sha1` or `sha256`.
        timeout: seconds for one object.
        cancel: asked while git is waited for.
        max_bytes: largest object read into memory.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        object_format: str,
        *,
        timeout: float,
        cancel: CancelCheck | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._environment = environment
        self._object_format = object_format
        self._timeout = timeout
        self._cancel = cancel
        self.max_bytes = max_bytes
        self._content: _Conversation | None = None
        self._headers: _Conversation | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the git processes. Reading afterwards is an error."""
        self._closed = True
        self._drop()

    def header(self, oid: str) -> ObjectHeader:
        """Type and size of an object, without its content.

        Raises:
            GitError: `missing_object`, `bad_argument`, `timeout`, `cancelled`, `git_failed`.
        """
        check_oid(oid, self._object_format)
        with self._keeping_order():
            if self._headers is None:
                self._headers = self._converse("--batch-check")
            self._headers.ask(oid)
            return self._header_from(self._headers, oid)

    def read(self, oid: str, *, max_bytes: int | None = None, expect: str | None = "blob") -> bytes:
        """The whole content of one object.

        Args:
            oid: full object id.
            max_bytes: largest content accepted, by default the reader's.
            expect: the type it must have; None for any.

        Raises:
            GitError: `missing_object`, `object_too_large`, `wrong_type`, and as `header`.
        """
        check_oid(oid, self._object_format)
        with self._keeping_order():
            conversation = self._contents()
            conversation.ask(oid)
            return self._take(conversation, oid, self.max_bytes if max_bytes is None else max_bytes, expect)

    def read_many(
        self, oids: Iterable[str], *, max_bytes: int | None = None, expect: str | None = "blob"
    ) -> Iterator[tuple[str, bytes | GitError]]:
        """Contents in the order asked for; requests run ahead of answers, so this is the fast way.

        An object that is missing, too large or of another type is answered by the error instead of the content, and
        the rest follows. Do not use the reader for anything else before the iteration ends.

        Raises:
            GitError: `bad_argument`, `timeout`, `cancelled`, `git_failed`; then nothing follows.
        """
        limit = self.max_bytes if max_bytes is None else max_bytes
        coming = iter(oids)
        asked: deque[str] = deque()
        finished = False
        try:
            while True:
                conversation = self._contents()
                while len(asked) < _AHEAD and (oid := next(coming, None)) is not None:
                    conversation.ask(check_oid(oid, self._object_format))
                    asked.append(oid)
                if not asked:
                    finished = True
                    return
                oid = asked.popleft()
                answer: bytes | GitError
                try:
                    answer = self._take(conversation, oid, limit, expect)
                except GitError as error:
                    if error.kind not in {"missing_object", "object_too_large", "wrong_type"}:
                        raise
                    answer = error
                if self._content is None:  # the process was ended with answers outstanding: ask them again
                    conversation = self._contents()
                    for waiting in asked:
                        conversation.ask(waiting)
                yield oid, answer
        finally:
            if not finished:
                self._drop()

    def _take(self, conversation: _Conversation, oid: str, limit: int, expect: str | None) -> bytes:
        header = self._header_from(conversation, oid)
        too_large = header.size > limit
        if not too_large and (expect is None or header.type == expect):
            return conversation.answer_content(header.size)
        if header.size <= _DRAIN_BYTES:
            conversation.skip_content(header.size)
        else:
            self._end(conversation)
        if expect is not None and header.type != expect:
            raise GitError("wrong_type", f"the object is a {header.type}, not a {expect}")
        raise GitError("object_too_large", f"the object is larger than {limit} bytes")

    def _header_from(self, conversation: _Conversation, oid: str) -> ObjectHeader:
        """The answer about the object asked for; a process that ended over it is not asked again."""
        try:
            return conversation.answer_header(oid)
        except GitError:
            if conversation.ended:
                self._end(conversation)
            raise

    def _end(self, conversation: _Conversation) -> None:
        conversation.close()
        if conversation is self._content:
            self._content = None
        elif conversation is self._headers:
            self._headers = None

    def _contents(self) -> _Conversation:
        if self._content is None:
            self._content = self._converse("--batch")
        return self._content

    def _converse(self, mode: str) -> _Conversation:
        if self._closed:
            raise GitError("bad_argument", "the reader is closed")
        return _Conversation(mode, self._environment, self._timeout, self._cancel)

    def _keeping_order(self) -> _DropOnConfusion:
        return _DropOnConfusion(self)

    def _drop(self) -> None:
        for conversation in (self._content, self._headers):
            if conversation is not None:
                conversation.close()
        self._content = self._headers = None


class _DropOnConfusion:
    """After an error in mid-answer nobody knows where the next answer begins: begin with a new process."""

    def __init__(self, reader: BlobReader) -> None:
        self._reader = reader

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        orderly = isinstance(error, GitError) and error.kind in {
            "missing_object",
            "object_too_large",
            "wrong_type",
            "bad_argument",
        }
        if error is not None and not orderly:
            self._reader._drop()


class _Conversation:
    """One `cat-file` process and the thread that ends it when an answer takes too long."""

    def __init__(
        self, mode: str, environment: Mapping[str, str], timeout: float, cancel: CancelCheck | None
    ) -> None:
        self._timeout = timeout
        self._cancel = cancel
        self._deadline = time.monotonic() + timeout
        self._waiting = False
        #: Git has ended over the object last asked for; whatever was asked after it has to be asked of a new one.
        self.ended = False
        self._over = threading.Event()
        self._child = Child(["cat-file", mode], environment=environment, feed=True)
        self._watch = threading.Thread(target=self._watch_clock, name="mcpkit-git-watch", daemon=True)
        self._watch.start()

    def ask(self, oid: str) -> None:
        try:
            self._child.input.write(oid.encode("ascii") + b"\n")
            self._child.input.flush()
        except OSError:
            pass  # git has ended; the answer that does not come says over which object
        except ValueError as error:
            raise self._failure() from error

    def answer_header(self, oid: str) -> ObjectHeader:
        self._expect_answer()
        line = self._child.output.readline(_HEADER_BYTES)
        self._waiting = False
        if not line and self._could_not_fetch(oid):
            self.ended = True
            raise GitError("missing_object")
        fields = line.split()
        if len(fields) == 2 and fields[1] == b"missing":
            raise GitError("missing_object")
        if len(fields) != 3 or fields[0] != oid.encode("ascii") or not line.endswith(b"\n"):
            raise self._failure()
        return ObjectHeader(fields[1].decode("ascii"), int(fields[2]))

    def answer_content(self, size: int) -> bytes:
        self._expect_answer()
        data = self._child.output.read(size)
        end = self._child.output.read(1)
        self._waiting = False
        if len(data) != size or end != b"\n":
            raise self._failure()
        return data

    def skip_content(self, size: int) -> None:
        self._expect_answer()
        left = size + 1
        while left > 0:
            piece = len(self._child.output.read(min(left, _CHUNK)))
            if piece == 0:
                raise self._failure()
            left -= piece
        self._waiting = False

    def close(self) -> None:
        self._over.set()
        self._child.close()
        self._watch.join()

    def _could_not_fetch(self, oid: str) -> bool:
        """Whether git ended because an object of a partial clone is not here and it may not fetch it.

        Git before 2.45 knows no other way to be kept from fetching than to be refused every protocol, and takes that
        for the end; later ones answer `missing`.
        """
        return (
            self._child.stopped is None and f"could not fetch {oid} from promisor" in self._child.last_words()
        )

    def _expect_answer(self) -> None:
        self._deadline = time.monotonic() + self._timeout
        self._waiting = True

    def _failure(self) -> GitError:
        if self._child.stopped is not None:
            return GitError(self._child.stopped, detail=self._child.errors())
        return GitError("git_failed", "git ended before it answered", detail=self._child.errors())

    def _watch_clock(self) -> None:
        # Looks at the clock instead of being told: telling it would cost every small object a thread switch.
        while not self._over.wait(POLL_SECONDS):
            if self._waiting and time.monotonic() > self._deadline:
                self._child.stop("timeout")
                return
            if self._cancel is not None and self._cancel():
                self._child.stop("cancelled")
                return
