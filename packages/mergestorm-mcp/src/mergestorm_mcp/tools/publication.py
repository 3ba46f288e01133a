"""`stack_publish` and `stack_publish_status`: a branch on GitHub without credentials for it (contract section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastmcp.tools import ToolResult
from pydantic import Field

from mcpkit.annotations import IDEMPOTENT_DESTRUCTIVE_WRITE, READ
from mcpkit.server import KitTool
from mergestorm_mcp.answers import thrown
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import (
    ARRAY,
    BOOLEAN,
    BOOLEAN_OR_NULL,
    OBJECT,
    OBJECT_OR_NULL,
    STRING,
    STRING_OR_NULL,
    NonEmpty,
    declare,
    failure,
    output,
    success,
)

__all__ = ["tools"]

# GitHub's own limits for a pull request.
_MAX_TITLE: Final = 256
_MAX_BODY: Final = 65_536
_MAX_NAME: Final = 250

Cwd = Annotated[NonEmpty, Field(max_length=4096, description="Directory of the checkout.")]
Owner = Annotated[NonEmpty, Field(max_length=200, description="Owner; with repo. Default: origin of cwd.")]
Repo = Annotated[NonEmpty, Field(max_length=200, description="Name; with owner.")]
Branch = Annotated[
    NonEmpty, Field(max_length=_MAX_NAME, description="Local branch. Default: the one checked out.")
]
Base = Annotated[NonEmpty, Field(max_length=_MAX_NAME, description="Branch to merge into. Default: trunk.")]
Title = Annotated[
    NonEmpty, Field(max_length=_MAX_TITLE, description="PR title. Default: from the newest commit.")
]
Body = Annotated[str, Field(max_length=_MAX_BODY, description="PR body. Default: from the newest commit.")]
ReplaceHead = Annotated[
    str, Field(max_length=100, description="GitHub head, full id, that may be replaced after head_changed.")
]
AutoLand = Annotated[bool, Field(description="Auto land. Default: on for a new stack, else unchanged.")]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def stack_publish(
        cwd: Cwd | None = None,
        owner: Owner | None = None,
        repo: Repo | None = None,
        branch: Branch | None = None,
        base: Base | None = None,
        title: Title | None = None,
        body: Body | None = None,
        replace_head: ReplaceHead | None = None,
        auto_land: AutoLand | None = None,
    ) -> ToolResult:
        # Git and httpx are not needed for a handshake.
        from mergestorm_mcp.publication.publish import PublishRequest

        request = PublishRequest(cwd, owner, repo, branch, base, title, body, replace_head, auto_land)
        return await _publish(runtime, request)

    async def stack_publish_status(
        cwd: Cwd | None = None,
        owner: Owner | None = None,
        repo: Repo | None = None,
        branch: Branch | None = None,
    ) -> ToolResult:
        from mergestorm_mcp.publication.publish import StatusRequest, publication_status

        request = StatusRequest(cwd, owner, repo, branch)
        status = await publication_status(runtime.api(), runtime.environment, request)
        return success(_summary(status), status)

    return [
        declare(
            stack_publish,
            title="Publish branch through Mergestorm",
            description=(
                "Publish a local branch's commits as the Surge App: branch, ready pull request, stack (Auto patch off). "
                "Needs no GitHub credentials and no push. Call again after each commit or a lost answer; it resumes. At "
                "most 20 commits, 500 paths, 2 MiB a file, 8 MiB in all; no merges, no submodule changes. Follow "
                "watch.next.args until watch.done."
            ),
            annotations=IDEMPOTENT_DESTRUCTIVE_WRITE,
            output_schema=output(
                state=STRING,
                created=OBJECT,
                resumed=BOOLEAN,
                owner=STRING,
                repo=STRING,
                branch=STRING,
                base=STRING,
                head=OBJECT,
                commits=ARRAY,
                pull=OBJECT_OR_NULL,
                stack=OBJECT_OR_NULL,
                dirty=BOOLEAN_OR_NULL,
                watch=OBJECT_OR_NULL,
                github_head=STRING_OR_NULL,
                local_head=STRING_OR_NULL,
            ),
        ),
        declare(
            stack_publish_status,
            title="Read branch publication",
            description="How far a publication got: absent, pushed, opened or registered. Changes nothing.",
            annotations=READ,
            output_schema=output(
                state=STRING,
                owner=STRING,
                repo=STRING,
                branch=STRING,
                head=OBJECT_OR_NULL,
                local_head=STRING_OR_NULL,
                in_sync=BOOLEAN_OR_NULL,
                pull=OBJECT_OR_NULL,
                stack=OBJECT_OR_NULL,
                watch=OBJECT_OR_NULL,
            ),
        ),
    ]


async def _publish(runtime: Runtime, request: Any) -> ToolResult:
    from mcpkit.threads import run_in_thread
    from mergestorm_mcp.publication.publish import prepare_publication, publish_branch
    from mergestorm_mcp.publication.refusals import PublicationRefused

    api = runtime.api()
    publication = await run_in_thread(
        lambda cancel: prepare_publication(runtime.environment, request, cancel)
    )
    try:
        result = await publish_branch(api, publication)
    except PublicationRefused as refusal:
        return _refused(refusal, refusal.details)
    return success(_summary(result), result)


def _refused(error: CommandError, details: Mapping[str, str | None]) -> ToolResult:
    told = thrown(error)
    return failure(told.summary, {**told.data, **details})


def _summary(data: Mapping[str, Any]) -> str:
    """The watch first, then one line about the publication and a sentence for what needs one."""
    place = f"{data['owner']}/{data['repo']} {data['branch']}"
    parts = [place, data["state"]]
    head, pull, stack = data["head"], data["pull"], data["stack"]
    if head is not None:
        verified = {True: " verified", False: " not verified"}.get(head.get("verified"), "")
        parts.append(f"head {head['sha'][:12]}{verified}")
    if pull is not None:
        parts.append(f"PR #{pull['number']}{' ' + pull['url'] if pull['url'] else ''}")
    if stack is not None:
        parts.append(f"stack {stack['id']}")
        parts += [
            f"{label} {'on' if stack[name] else 'off'}"
            for name, label in (("auto_land", "auto-land"), ("auto_patch", "auto-patch"))
            if stack[name] is not None
        ]
    if data.get("in_sync") is not None:
        parts.append("in sync with the local branch" if data["in_sync"] else "differs from the local branch")
    lines = [one_line(" · ".join(parts), 1000), *_remarks(data)]
    watch = data["watch"]
    return "\n".join([watch["message"], "", *lines] if watch is not None else lines)


def _remarks(data: Mapping[str, Any]) -> list[str]:
    remarks = []
    if data["state"] in {"pushed", "opened"}:
        remarks.append("The publication is not complete; call stack_publish again, which goes on from here.")
    if data.get("dirty"):
        remarks.append("The work tree holds changes that are not committed; they were not published.")
    if "base" in data and not data["head"]["verified"]:
        remarks.append("GitHub holds the same tree under another commit id than expected; see commits.")
    return remarks
