"""`review_dismiss`: an audited dismissal of findings that were verified to be wrong (contract 3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from fastmcp.tools import ToolResult
from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from mcpkit.annotations import IDEMPOTENT_DESTRUCTIVE_WRITE
from mcpkit.inputs import JsonInteger
from mcpkit.server import KitTool
from mergestorm_mcp.answers import named
from mergestorm_mcp.errors import usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    OBJECT,
    STRING,
    STRING_OR_NULL,
    NonEmpty,
    declare,
    failure,
    output,
    success,
)

__all__ = ["tools"]

_MAX_LINES: Final = 60


def _web_address(value: str) -> str:
    try:
        parts = urlsplit(value.strip())
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        raise PydanticCustomError("web_address", "must be an http or https address")
    return value.strip()


Owner = Annotated[NonEmpty, Field(description="Repository owner.")]
Repo = Annotated[NonEmpty, Field(description="Repository name.")]
PrNumber = Annotated[JsonInteger, Field(ge=1, description="Pull request number.")]
HeadSha = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{40}$", description="The PR's live head.")]
ReviewId = Annotated[JsonInteger, Field(ge=1, description="Core or seam review made at that head.")]
FindingIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]],
    Field(max_length=50),
    WithJsonSchema({
        "type": "array",
        "items": STRING,
        "maxItems": 50,
        "description": "Review comment ids, offdiff-<n>, or review.",
    }),
]
Scope = Annotated[
    Literal["findings", "review"], Field(description="review without finding_ids: every finding of it.")
]
Reason = Annotated[str, Field(max_length=20_000, description="Why they are wrong, 20 characters or more.")]
Evidence = Annotated[
    str,
    Field(max_length=2000),
    AfterValidator(_web_address),
    WithJsonSchema({"type": "string", "format": "uri", "description": "Web address of the proof."}),
]
Preview = Annotated[bool, Field(description="Only list finding ids and the seam gate.")]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def review_dismiss(
        owner: Owner,
        repo: Repo,
        pr_number: PrNumber,
        head_sha: HeadSha,
        review_id: ReviewId,
        finding_ids: FindingIds | None = None,
        scope: Scope | None = None,
        reason: Reason | None = None,
        evidence_url: Evidence | None = None,
        preview: Preview = False,
    ) -> ToolResult:
        request: dict[str, Any] = {
            "owner": owner.strip(),
            "repo": repo.strip(),
            "pr_number": pr_number,
            "head_sha": head_sha,
            "review_id": review_id,
        }
        if not request["owner"] or not request["repo"]:
            raise usage("owner and repo must name a repository.")
        optional = {
            "finding_ids": [item.strip() for item in finding_ids or []],
            "scope": scope,
            "reason": reason.strip() if reason is not None else None,
            "evidence_url": evidence_url,
            "preview": preview,
        }
        return await _dismiss(
            runtime, {**request, **{name: value for name, value in optional.items() if value}}
        )

    return [
        declare(
            review_dismiss,
            title="Dismiss Vortex findings",
            description=(
                "Record that Vortex findings you verified are wrong; stored with your login and reason. Call with "
                "preview: true first. A refusal writes nothing; a retry lists earlier ones under already_dismissed. "
                "gate tells what still blocks. With a watch in the result, follow watch.next.args."
            ),
            annotations=IDEMPOTENT_DESTRUCTIVE_WRITE,
            output_schema=output(
                status=STRING,
                owner=STRING,
                repo=STRING,
                pr_number=INTEGER,
                head_sha=STRING,
                review_id=INTEGER,
                review_kind=STRING,
                scope=STRING,
                dismissed=ARRAY,
                already_dismissed=ARRAY,
                remaining=ARRAY,
                all_dismissed=BOOLEAN,
                gate=OBJECT,
                stack_id=STRING_OR_NULL,
                watch=OBJECT,
            ),
        )
    ]


async def _dismiss(runtime: Runtime, request: Mapping[str, Any]) -> ToolResult:
    from mergestorm_mcp.api.pr_reviews import dismiss_findings  # httpx is not needed for a handshake
    from mergestorm_mcp.reviews.dismissal import Refusal, read_dismissal

    outcome = read_dismissal(await dismiss_findings(runtime.api(), request))
    if isinstance(outcome, Refusal):
        error = {"code": outcome.code, "message": outcome.message, "status": outcome.status}
        return failure(named(outcome.code, None, outcome.message), {"error": error})
    lines = _summary(outcome)
    stack_id = outcome.get("stack_id")
    if isinstance(stack_id, str) and stack_id.strip():
        from mergestorm_mcp.stacks.obligation import open_watch

        watch = open_watch(stack_id, reason="unread", fresh=True)
        return success("\n".join([watch["message"], "", *lines]), {**outcome, "watch": watch})
    return success("\n".join(lines), outcome)


def _summary(result: Mapping[str, Any]) -> list[str]:
    open_ones = _objects(result.get("remaining"))
    if result.get("status") == "preview":
        lines = [
            f"Preview: {len(open_ones)} open finding{'' if len(open_ones) == 1 else 's'}; nothing written."
        ]
        lines += [_finding_line(item) for item in open_ones[:_MAX_LINES]]
    else:
        done, before = _objects(result.get("dismissed")), _objects(result.get("already_dismissed"))
        lines = [f"{len(done)} dismissed · {len(before)} already dismissed · {len(open_ones)} still open"]
    gate = result.get("gate")
    if isinstance(gate, dict):
        lines += _gate_lines(gate)
    return lines


def _gate_lines(gate: Mapping[str, Any]) -> list[str]:
    lines = []
    seam = gate.get("seam")
    if isinstance(seam, dict):
        if seam.get("cleared") is True:
            lines.append("Seam gate: cleared")
        elif seam.get("blocking") is True:
            lines.append(one_line(f"Seam gate: still blocking ({seam.get('state')})", 200))
        else:
            lines.append("Seam gate: not blocking")
    vortex = gate.get("vortex")
    if isinstance(vortex, dict):
        if vortex.get("cleared") is True:
            lines.append("Vortex gate: cleared")
        elif vortex.get("reason") != "review_findings_open" and isinstance(vortex.get("message"), str):
            lines.append(f"Vortex gate: {one_line(vortex['message'], 500)}")
    return lines


def _finding_line(finding: Mapping[str, Any]) -> str:
    place = finding.get("path") or "review body"
    return one_line(f"{finding.get('finding_id')} ({place}: {finding.get('title')})", 300)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
