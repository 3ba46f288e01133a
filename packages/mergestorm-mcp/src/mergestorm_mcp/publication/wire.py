"""The request that publishes a branch, and the service's two answers.

The one module that knows these shapes: they are ours (contract 5.2, 5.5 and 5.6) until a schema is published. Texts in
a commit's fields are its bytes as UTF-8, what does not fit replaced; `raw_base64` holds the bytes themselves.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.git import Signature
from mergestorm_mcp.publication.commits import CopiedCommit
from mergestorm_mcp.publication.range import BranchRange
from mergestorm_mcp.publication.reading import Change

__all__ = ["Answer", "Options", "publication_body", "read_answer"]

_OID: Final = re.compile(r"[0-9a-f]{40}")
_PUBLISHED: Final = frozenset({"pushed", "opened", "registered"})


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted of a publication beside its commits.

    Attributes:
        owner: repository owner.
        repo: repository name.
        title: of the pull request.
        body: of the pull request.
        auto_land: Auto land of the stack; None leaves it to the service.
        replace_head: head on GitHub that may be replaced, 40 lower-case digits.
    """

    owner: str
    repo: str
    title: str
    body: str
    auto_land: bool | None = None
    replace_head: str | None = None


def publication_body(
    line: BranchRange,
    made: Sequence[CopiedCommit],
    changes: Sequence[Sequence[Change]],
    blobs: Mapping[str, bytes],
    options: Options,
) -> dict[str, Any]:
    """The request's body."""
    head = line.head
    body: dict[str, Any] = {
        "owner": options.owner,
        "repo": options.repo,
        "branch": line.branch,
        "base": line.base,
        "base_sha": line.base_oid,
        "head_sha": head.oid,
        "tree_sha": head.tree,
        "title": options.title,
        "body": options.body,
        "commits": [_commit(copy, own) for copy, own in zip(made, changes, strict=True)],
        "blobs": {
            oid: {"size": len(data), "base64": base64.b64encode(data).decode("ascii")}
            for oid, data in blobs.items()
        },
    }
    if options.auto_land is not None:
        body["auto_land"] = options.auto_land
    if options.replace_head is not None:
        body["replace_head"] = options.replace_head
    return body


def _commit(copy: CopiedCommit, changes: Sequence[Change]) -> dict[str, Any]:
    commit = copy.original
    return {
        "sha": commit.oid,
        "parent": commit.parents[0],
        "tree": commit.tree,
        "author": _person(commit.author),
        "committer": _person(commit.committer),
        "message": commit.message.decode("utf-8", "replace"),
        "changes": [_change(change) for change in changes],
        "raw_base64": base64.b64encode(copy.raw).decode("ascii"),
    }


def _person(person: Signature) -> dict[str, str]:
    return {
        "name": person.name.decode("utf-8", "replace"),
        "email": person.email.decode("utf-8", "replace"),
        "date": f"{person.time} {person.zone}",
    }


def _change(change: Change) -> dict[str, Any]:
    if change.blob is None:
        return {"path": change.path, "op": "delete"}
    return {"path": change.path, "op": "put", "mode": change.mode, "blob": change.blob}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service says of a publication, only what it may say.

    Attributes:
        state: absent, pushed, opened or registered.
        head_sha: the branch's commit on GitHub.
        head_tree: its tree.
        pull: `number`, `url`, `draft`.
        stack: `id`, `auto_patch`, `auto_land`, and `auto_review` where it was told.
        created: whether branch, pull request and stack were made by this call.
        resumed: an earlier publication was continued.
        commits: pairs of a local id and the id and tree on GitHub.
    """

    state: str
    head_sha: str | None
    head_tree: str | None
    pull: dict[str, Any] | None
    stack: dict[str, Any] | None
    created: dict[str, bool]
    resumed: bool
    commits: dict[str, tuple[str | None, str | None]]


def read_answer(body: Any, *, absent: bool) -> Answer | None:
    """The answer in a reply's body; None if it is none.

    Args:
        body: JSON value.
        absent: whether the branch may not be there, as in a status.
    """
    if not isinstance(body, dict):
        return None
    state, head = body.get("state"), body.get("head")
    head = head if isinstance(head, dict) else {}
    sha, tree = _oid(head.get("sha")), _oid(head.get("tree"))
    known = _PUBLISHED | {"absent"} if absent else _PUBLISHED
    if state not in known or (state != "absent" and (sha is None or tree is None)):
        return None
    created = body.get("created")
    created = created if isinstance(created, dict) else {}
    return Answer(
        state=state,
        head_sha=sha,
        head_tree=tree,
        pull=_pull(body.get("pull")),
        stack=_stack(body.get("stack")),
        created={name: created.get(name) is True for name in ("branch", "pull", "stack")},
        resumed=body.get("resumed") is True,
        commits=_pairs(body.get("commits")),
    )


def _pull(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    number, url = value.get("number"), value.get("url")
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return {
        "number": number,
        "url": url if isinstance(url, str) else None,
        "draft": value.get("draft") is True,
    }


def _stack(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"].strip():
        return None
    switches = {
        name: value.get(name) if isinstance(value.get(name), bool) else None
        for name in ("auto_patch", "auto_land", "auto_review")
        if name != "auto_review" or name in value
    }
    return {"id": value["id"], **switches}


def _pairs(value: Any) -> dict[str, tuple[str | None, str | None]]:
    found: dict[str, tuple[str | None, str | None]] = {}
    for item in value if isinstance(value, list) else []:
        local = _oid(item.get("local_sha")) if isinstance(item, dict) else None
        if local is not None:
            found[local] = (_oid(item.get("github_sha")), _oid(item.get("tree")))
    return found


def _oid(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    lowered = value.strip().lower()
    return lowered if _OID.fullmatch(lowered) else None
