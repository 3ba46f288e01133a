"""The request's shape (contract 5.2), and nothing but its shape: sizes and contents have refusals of their own.

What such a refusal holds is in the OpenAPI document all the same (`json_schema_extra`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mergestorm_mcp.service.http.bodies import Body, Name, NotNull, Query
from mergestorm_mcp.service.publication.limits import MAX_COMMITS, MAX_FILE_BYTES

__all__ = ["PublicationQuery", "PublishBody", "SentBlob", "SentChange", "SentCommit", "SentPerson"]

Oid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
# Whole, but in any letter case.
AnyCaseOid = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{40}$")]
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
    mode: Annotated[
        str | None, Field(max_length=16, json_schema_extra={"enum": ["100644", "100755", "120000"]}), NotNull
    ] = None
    blob: Annotated[Oid | None, NotNull] = None


class SentCommit(Body):
    """One commit: fields people can read and, in `raw_base64`, its bytes without a signature."""

    sha: Oid
    parent: Oid
    tree: Oid
    author: SentPerson
    committer: SentPerson
    message: Text
    changes: list[SentChange]
    raw_base64: Annotated[Text | None, NotNull] = None


class SentBlob(Body):
    """One content."""

    size: Annotated[int, Field(json_schema_extra={"maximum": MAX_FILE_BYTES})]
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
    auto_land: Annotated[bool | None, NotNull] = None
    replace_head: Annotated[AnyCaseOid | None, NotNull] = None
    commits: Annotated[list[SentCommit], Field(json_schema_extra={"minItems": 1, "maxItems": MAX_COMMITS})]
    blobs: dict[Oid, SentBlob]


class PublicationQuery(Query):
    """Whose publication is asked for."""

    owner: Name
    repo: Name
    branch: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
