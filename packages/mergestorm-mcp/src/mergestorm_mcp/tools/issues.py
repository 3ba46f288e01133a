"""`issue_create`: a GitHub issue through the Surge App (contract 3.18)."""

from __future__ import annotations

from typing import Annotated, Final

from fastmcp.tools import ToolResult
from pydantic import Field, WithJsonSchema

from mcpkit.annotations import IDEMPOTENT_WRITE
from mcpkit.server import KitTool
from mergestorm_mcp.errors import usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    STRING,
    STRING_OR_NULL,
    NonEmpty,
    declare,
    output,
    success,
)

__all__ = ["tools"]

# GitHub's own limits for a title and a body.
_MAX_TITLE: Final = 256
_MAX_BODY: Final = 65_536

Title = Annotated[NonEmpty, Field(max_length=_MAX_TITLE, description="Issue title.")]
Body = Annotated[str, Field(max_length=_MAX_BODY, description="Markdown.")]
Labels = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]],
    Field(max_length=100),
    WithJsonSchema({"type": "array", "items": STRING, "description": "Labels that exist on the repository."}),
]
Owner = Annotated[NonEmpty, Field(description="Owner; with repo. Default: origin of cwd.")]
Repo = Annotated[NonEmpty, Field(description="Name; with owner.")]
Cwd = Annotated[str, Field(description="Directory of the checkout.")]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def issue_create(
        title: Title,
        body: Body | None = None,
        labels: Labels | None = None,
        owner: Owner | None = None,
        repo: Repo | None = None,
        cwd: Cwd | None = None,
    ) -> ToolResult:
        from mergestorm_mcp.api.issues import create_issue  # httpx is not needed for a handshake

        api = runtime.api()
        if not title.strip():
            raise usage("title is blank; say what the issue is about.")
        wanted = await _repository(runtime, owner, repo, cwd)
        issue = await create_issue(
            api, owner=wanted[0], repo=wanted[1], title=title.strip(), body=body, labels=labels
        )
        number = issue["number"]
        state = "Created" if issue["created"] else "Already open:"
        address = f" ({issue['url']})" if issue["url"] else ""
        summary = (
            f'{state} {issue["owner"]}/{issue["repo"]}#{number}{address}. Put "Fixes #{number}" in the commit or pull '
            "request body."
        )
        return success(one_line(summary, 600), issue)

    return [
        declare(
            issue_create,
            title="Create issue",
            description=(
                "Open a GitHub issue through the Surge App; no GitHub credentials needed. A title that is still open "
                "from an earlier call returns that issue (created: false)."
            ),
            annotations=IDEMPOTENT_WRITE,
            output_schema=output(
                created=BOOLEAN,
                number=INTEGER,
                url=STRING_OR_NULL,
                title=STRING,
                owner=STRING,
                repo=STRING,
                labels=ARRAY,
            ),
        )
    ]


async def _repository(
    runtime: Runtime, owner: str | None, repo: str | None, cwd: str | None
) -> tuple[str, str]:
    if (owner is None) != (repo is None):
        raise usage("owner and repo go together; leave both out to take the origin of cwd.")
    if owner is not None and repo is not None:
        if not owner.strip() or not repo.strip():
            raise usage("owner and repo must name a repository.")
        return owner.strip(), repo.strip()
    from mcpkit.threads import run_in_thread  # git is not needed where the repository is named
    from mergestorm_mcp.checkout import origin_repository

    return await run_in_thread(lambda cancel: origin_repository(runtime.environment, cwd, cancel))
