"""`/reviews` and `/threads`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints
from starlette.routing import Route

from mergestorm_mcp.service.http.bodies import Body, Digits, NotNull, Query
from mergestorm_mcp.service.http.endpoints import Answer, Call, endpoint
from mergestorm_mcp.service.local_reviews import jobs, reviewer, threads

__all__ = ["routes"]

_MAX_REQUEST: Final = 40 << 20
"""Longest request in bytes: forty files of 400,000 bytes, a diff and context, some of it escaped."""

_MAX_FILE: Final = 400_000
_MAX_CONTEXT: Final = 60_000
_MAX_CONTEXT_FILE: Final = 16_000

_REPOSITORY: Final = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"

_Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
_Label = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class _File(Body):
    path: _Path
    content: Annotated[str, StringConstraints(max_length=_MAX_FILE)]


class _ContextFile(Body):
    path: _Path
    content: Annotated[str, StringConstraints(max_length=_MAX_CONTEXT_FILE)]


_Specialist = Annotated[
    # The document names them; one that is unknown gets a code of its own from the domain.
    str, StringConstraints(max_length=100), Field(json_schema_extra={"enum": sorted(reviewer.SPECIALISTS)})
]


class _Submission(Body):
    thread: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,119}$")]
    branch: _Label
    repo: Annotated[str | None, Field(pattern=_REPOSITORY), NotNull] = None
    base_label: _Label
    head_label: _Label
    diff: Annotated[str, StringConstraints(min_length=1)]
    files: Annotated[list[_File], Field(max_length=40)]
    router_mode: Annotated[Literal["off", "standard", "max", "manual"] | None, NotNull] = None
    specialists: Annotated[list[_Specialist], Field(max_length=5)] = Field(default_factory=list)
    context: Annotated[str | None, Field(min_length=1, max_length=_MAX_CONTEXT), NotNull] = None
    context_files: Annotated[list[_ContextFile], Field(max_length=10)] = Field(default_factory=list)
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=128), NotNull] = None
    webhook_url: Annotated[str | None, Field(pattern=r"^https://[^\s/]+", max_length=2000), NotNull] = None


class _Jobs(Query):
    limit: Annotated[int, Field(ge=1, le=50), Digits] = 10


class _Threads(Query):
    limit: Annotated[int, Field(ge=1, le=50), Digits] = 20


def routes() -> list[Route]:
    """Reviews of diffs, and their threads."""
    return [
        endpoint("GET", "/api/v1/reviews", _list, query=_Jobs),
        endpoint("POST", "/api/v1/reviews", _submit, body=_Submission, max_body=_MAX_REQUEST),
        endpoint("GET", "/api/v1/reviews/{job_id}", _read),
        endpoint("GET", "/api/v1/threads", _list_threads, query=_Threads),
        # A slug has slashes in it; they arrive encoded and are decoded before a route is chosen.
        endpoint("GET", "/api/v1/threads/{slug:path}", _read_thread),
    ]


def _submit(call: Call) -> Answer:
    asked = call.body
    submission = jobs.Submission(
        thread=asked.thread,
        branch=asked.branch,
        repo=asked.repo,
        base_label=asked.base_label,
        head_label=asked.head_label,
        diff=asked.diff,
        router_mode=asked.router_mode,
        specialists=tuple(asked.specialists),
        idempotency_key=asked.idempotency_key,
        wants_webhook=asked.webhook_url is not None,
        fingerprint=jobs.fingerprint(asked.model_dump()),
    )
    with call.world.store.write() as connection:
        return Answer(jobs.submit(call.world, connection, call.caller, submission), 202)


def _read(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return jobs.read_job(connection, call.caller, call.part("job_id"))


def _list(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return {"items": jobs.list_jobs(connection, call.caller, call.query.limit)}


def _list_threads(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return {"items": threads.list_threads(connection, call.caller, call.query.limit)}


def _read_thread(call: Call) -> dict[str, Any]:
    with call.world.store.read() as connection:
        return threads.read_thread(connection, call.caller, call.part("slug"))
