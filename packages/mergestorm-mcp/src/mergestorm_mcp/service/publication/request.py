"""The request's shape (contract 5.2), and nothing but its shape: sizes and contents have refusals of their own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from mergestorm_mcp.service.http.bodies import Body, Query

__all__ = ["PublicationQuery", "PublishBody", "SentBlob", "SentChange", "SentCommit", "SentPerson"]

Oid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
# Whole, but in any letter case.
AnyCaseOid = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{40}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Text = Annotated[str, StringConstraints(max_length=1_000_000)]


class SentPerson(Body):
    """Who and when; `date` is `<epoch> <+hhmm>`."""

    name: Text
    email: Text
    date: Annotated[str, StringConstraints(max_length=64)]


class SentChange(Body):
    """One path in one commit."""

    path: Text
    op: Literal["put", "delete"]
    mode: Annotated[str, StringConstraints(max_length=16)] | None = None
    blob: Oid | None = None


class SentCommit(Body):
    """One commit: fields people can read and, in `raw_base64`, its bytes without a signature."""

    sha: Oid
    parent: Oid
    tree: Oid
    author: SentPerson
    committer: SentPerson
    message: Text
    changes: list[SentChange]
    raw_base64: Text | None = None


class SentBlob(Body):
    """One content."""

    size: int
    base64: str


class PublishBody(Body):
    """One publication."""

    owner: Name
    repo: Name
    branch: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    base: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    base_sha: Oid
    head_sha: Oid
    tree_sha: Oid
    title: Text
    body: Text
    auto_land: bool | None = None
    replace_head: AnyCaseOid | None = None
    commits: list[SentCommit]
    blobs: dict[Oid, SentBlob]


class PublicationQuery(Query):
    """Whose publication is asked for."""

    owner: Name
    repo: Name
    branch: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
