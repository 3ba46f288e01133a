"""The four settings tools: of the account (contract 3.16) and of repositories (3.17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastmcp.tools import ToolResult
from pydantic import Field, WithJsonSchema

from mcpkit.annotations import DESTRUCTIVE_WRITE, READ
from mcpkit.inputs import ABSENT, JsonInteger, NullableBoolean, given
from mcpkit.server import KitTool
from mergestorm_mcp.errors import usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import (
    ARRAY,
    ARRAY_OR_NULL,
    BOOLEAN,
    BOOLEAN_OR_NULL,
    INTEGER,
    INTEGER_OR_NULL,
    STRING,
    NonEmpty,
    declare,
    output,
    success,
)

__all__ = ["tools"]

_MAX_ENTRIES: Final = 200


def _switch(description: str) -> Any:
    return Field(description=description)


AutoReview = Annotated[bool, _switch("Vortex reviews new heads by itself.")]
AutoPatch = Annotated[bool, _switch("Cyclone patches findings.")]
ThinkingTraces = Annotated[bool, _switch("Show thinking traces.")]
RepoOverview = Annotated[bool, _switch("Write repository overviews.")]
ReviewLandPrs = Annotated[bool, _switch("Review land PRs.")]
SkipCi = Annotated[bool, _switch("Cyclone commits skip CI.")]
Unverified = Annotated[bool, _switch("Cyclone patches languages it cannot verify.")]
Overflow = Annotated[bool, _switch("Pay for reviews beyond the plan.")]
SkipAllClear = Annotated[bool, _switch("No comment when all is clear.")]
SeamSpecialist = Annotated[bool, _switch("Run the seam specialist.")]
AutoLand = Annotated[bool, _switch("Auto land for new stacks.")]
Batch = Annotated[bool, _switch("Land in batches.")]
ResolveConflicts = Annotated[bool, _switch("Cyclone resolves conflicts.")]
FixCi = Annotated[bool, _switch("Cyclone fixes failing CI.")]
Settle = Annotated[JsonInteger, Field(ge=15, le=300, description="Seconds Auto land lets a head settle.")]
BatchSize = Annotated[JsonInteger, Field(ge=2, le=8, description="Largest batch.")]
IgnoredBots = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]],
    Field(max_length=_MAX_ENTRIES),
    WithJsonSchema({
        "type": "array",
        "items": STRING,
        "description": "Bot logins to ignore; replaces the list.",
    }),
]
BotSkipCheck = Annotated[Literal["none", "neutral"], Field(description="Check shown on ignored bots' PRs.")]
FindingsCheck = Annotated[
    Literal["failure", "neutral", "success"], Field(description="Check shown when there are findings.")
]
PatchFailureCheck = Annotated[
    Literal["failure", "neutral"], Field(description="Check shown when a patch failed.")
]

_SETTINGS_OUTPUT: Final = output(
    auto_review_enabled=BOOLEAN,
    auto_patch_enabled=BOOLEAN,
    vortex_show_thinking_traces=BOOLEAN,
    repo_overview_enabled=BOOLEAN,
    review_unit_land_prs_enabled=BOOLEAN,
    cyclone_skip_ci_enabled=BOOLEAN,
    cyclone_patch_unverified_languages=BOOLEAN,
    vortex_auto_overflow_enabled=BOOLEAN,
    vortex_skip_all_clear_comments=BOOLEAN,
    vortex_seam_specialist_enabled=BOOLEAN,
    auto_land_default=BOOLEAN,
    merge_queue_batch_enabled=BOOLEAN,
    auto_resolve_conflicts_enabled=BOOLEAN,
    auto_fix_ci_enabled=BOOLEAN,
    auto_land_settle_seconds=INTEGER,
    merge_queue_batch_size=INTEGER,
    ignored_bot_logins=ARRAY,
    vortex_bot_skip_check=STRING,
    vortex_findings_check=STRING,
    cyclone_patch_failure_check=STRING,
    cyclone_connected=BOOLEAN,
    github_connected=BOOLEAN,
    stacks_ready=BOOLEAN,
)

_REPO_OUTPUT: Final = output(
    owner=STRING,
    repo=STRING,
    auto_patch_enabled=BOOLEAN_OR_NULL,
    auto_review_enabled=BOOLEAN_OR_NULL,
    auto_land_default=BOOLEAN_OR_NULL,
    merge_queue_batch_enabled=BOOLEAN_OR_NULL,
    merge_queue_overdrive=BOOLEAN_OR_NULL,
    merge_queue_batch_size=INTEGER_OR_NULL,
    merge_queue_lands_alone_paths=ARRAY_OR_NULL,
)

OptionalOwner = Annotated[NonEmpty, Field(description="Owner; with repo. Left out: all repositories.")]
OptionalRepo = Annotated[NonEmpty, Field(description="Name; with owner.")]
Owner = Annotated[NonEmpty, Field(description="Repository owner.")]
Repo = Annotated[NonEmpty, Field(description="Repository name.")]
RepoPatch = Annotated[NullableBoolean, Field(description="Cyclone patches findings.")]
RepoReview = Annotated[NullableBoolean, Field(description="Vortex reviews by itself.")]
RepoLand = Annotated[NullableBoolean, Field(description="Auto land for new stacks.")]
RepoBatch = Annotated[NullableBoolean, Field(description="Land in batches.")]
RepoOverdrive = Annotated[NullableBoolean, Field(description="Merge queue overdrive.")]
RepoBatchSize = Annotated[
    Annotated[JsonInteger, Field(ge=2, le=8)] | None,
    Field(description="Largest batch."),
    WithJsonSchema({"enum": [2, 3, 4, 5, 6, 7, 8, None]}),
]
RepoAlone = Annotated[
    Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=_MAX_ENTRIES)]
    | None,
    Field(description="Paths whose changes land alone: strings, or null."),
    WithJsonSchema({"items": STRING}),
]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def settings_get() -> ToolResult:
        from mergestorm_mcp.api.settings import read_settings  # httpx is not needed for a handshake

        stored = await read_settings(runtime.api())
        return success(settings_summary(stored), stored)

    async def settings_set(
        auto_review_enabled: AutoReview | None = None,
        auto_patch_enabled: AutoPatch | None = None,
        vortex_show_thinking_traces: ThinkingTraces | None = None,
        repo_overview_enabled: RepoOverview | None = None,
        review_unit_land_prs_enabled: ReviewLandPrs | None = None,
        cyclone_skip_ci_enabled: SkipCi | None = None,
        cyclone_patch_unverified_languages: Unverified | None = None,
        vortex_auto_overflow_enabled: Overflow | None = None,
        vortex_skip_all_clear_comments: SkipAllClear | None = None,
        vortex_seam_specialist_enabled: SeamSpecialist | None = None,
        auto_land_default: AutoLand | None = None,
        merge_queue_batch_enabled: Batch | None = None,
        auto_resolve_conflicts_enabled: ResolveConflicts | None = None,
        auto_fix_ci_enabled: FixCi | None = None,
        auto_land_settle_seconds: Settle | None = None,
        merge_queue_batch_size: BatchSize | None = None,
        ignored_bot_logins: IgnoredBots | None = None,
        vortex_bot_skip_check: BotSkipCheck | None = None,
        vortex_findings_check: FindingsCheck | None = None,
        cyclone_patch_failure_check: PatchFailureCheck | None = None,
    ) -> ToolResult:
        from mergestorm_mcp.api.settings import change_settings

        named = {
            "auto_review_enabled": auto_review_enabled,
            "auto_patch_enabled": auto_patch_enabled,
            "vortex_show_thinking_traces": vortex_show_thinking_traces,
            "repo_overview_enabled": repo_overview_enabled,
            "review_unit_land_prs_enabled": review_unit_land_prs_enabled,
            "cyclone_skip_ci_enabled": cyclone_skip_ci_enabled,
            "cyclone_patch_unverified_languages": cyclone_patch_unverified_languages,
            "vortex_auto_overflow_enabled": vortex_auto_overflow_enabled,
            "vortex_skip_all_clear_comments": vortex_skip_all_clear_comments,
            "vortex_seam_specialist_enabled": vortex_seam_specialist_enabled,
            "auto_land_default": auto_land_default,
            "merge_queue_batch_enabled": merge_queue_batch_enabled,
            "auto_resolve_conflicts_enabled": auto_resolve_conflicts_enabled,
            "auto_fix_ci_enabled": auto_fix_ci_enabled,
            "auto_land_settle_seconds": auto_land_settle_seconds,
            "merge_queue_batch_size": merge_queue_batch_size,
            "ignored_bot_logins": ignored_bot_logins,
            "vortex_bot_skip_check": vortex_bot_skip_check,
            "vortex_findings_check": vortex_findings_check,
            "cyclone_patch_failure_check": cyclone_patch_failure_check,
        }
        changes = {name: value for name, value in named.items() if value is not None}
        if not changes:
            raise usage(f"Nothing to set; pass at least one of {', '.join(named)}.")
        stored = await change_settings(runtime.api(), changes)
        return success(settings_summary(stored), stored)

    async def repo_settings_get(
        owner: OptionalOwner | None = None, repo: OptionalRepo | None = None
    ) -> ToolResult:
        from mergestorm_mcp.api.repo_settings import read_repo_settings

        if (owner is None) != (repo is None):
            raise usage("owner and repo go together; leave both out for every connected repository.")
        wanted = None if owner is None or repo is None else _repository(owner, repo)
        found = await read_repo_settings(runtime.api(), wanted)
        lines = [_repo_summary(item) for item in found] or ["No connected repositories"]
        return success("\n".join(lines[:50]), {"repositories": found})

    async def repo_settings_set(
        owner: Owner,
        repo: Repo,
        auto_patch: RepoPatch = ABSENT,
        auto_review: RepoReview = ABSENT,
        auto_land: RepoLand = ABSENT,
        merge_queue_batch: RepoBatch = ABSENT,
        merge_queue_overdrive: RepoOverdrive = ABSENT,
        merge_queue_batch_size: RepoBatchSize = ABSENT,
        merge_queue_lands_alone_paths: RepoAlone = ABSENT,
    ) -> ToolResult:
        from mergestorm_mcp.api.repo_settings import WIRE_NAMES, change_repo_settings

        changes = given(
            auto_patch=auto_patch,
            auto_review=auto_review,
            auto_land=auto_land,
            merge_queue_batch=merge_queue_batch,
            merge_queue_overdrive=merge_queue_overdrive,
            merge_queue_batch_size=merge_queue_batch_size,
            merge_queue_lands_alone_paths=merge_queue_lands_alone_paths,
        )
        wanted = _repository(owner, repo)
        if not changes:
            raise usage(f"Nothing to set; pass at least one of {', '.join(WIRE_NAMES)}.")
        stored = await change_repo_settings(runtime.api(), wanted, changes)
        return success(_repo_summary({"owner": wanted[0], "repo": wanted[1], **stored}), stored)

    return [
        declare(
            settings_get,
            title="Get settings",
            description="The account's settings and whether Cyclone, GitHub and Surge are connected.",
            annotations=READ,
            output_schema=_SETTINGS_OUTPUT,
        ),
        declare(
            settings_set,
            title="Update settings",
            description="Change account settings: only the keys passed. Returns all settings as stored.",
            annotations=DESTRUCTIVE_WRITE,
            output_schema=_SETTINGS_OUTPUT,
            refuse=_refuse_read_only,
        ),
        declare(
            repo_settings_get,
            title="Get repository settings",
            description="Settings of one or all connected repositories. null: not set, the account's value applies.",
            annotations=READ,
            output_schema=output(repositories=ARRAY),
        ),
        declare(
            repo_settings_set,
            title="Update repository settings",
            description=(
                "Change a repository's settings: only the keys passed; null clears one. Order: stack, repository, "
                "account."
            ),
            annotations=DESTRUCTIVE_WRITE,
            output_schema=_REPO_OUTPUT,
        ),
    ]


def settings_summary(stored: Mapping[str, Any]) -> str:
    """One line about the settings that matter most to an agent."""
    parts = [f"auto_patch {'on' if stored.get('auto_patch_enabled') is True else 'off'}"]
    if stored.get("auto_resolve_conflicts_enabled") is True:
        parts.append("auto_resolve_conflicts on")
    if stored.get("auto_fix_ci_enabled") is True:
        parts.append("auto_fix_ci on")
    parts.append(f"Cyclone {'connected' if stored.get('cyclone_connected') is True else 'not connected'}")
    ready = stored.get("stacks_ready")
    if isinstance(ready, bool):
        parts[-1] += " (auto patch)"
        state = "ready" if ready else "not ready (install Mergestorm Surge)"
        parts.append(f"stacks, merge queue and Auto land {state}")
    return " · ".join(parts)


def _refuse_read_only(arguments: Mapping[str, Any]) -> None:
    # Not in the schema, so that nobody is led to pass them; refused by name for those who know them from settings_get.
    from mergestorm_mcp.api.settings import READ_ONLY

    named = [name for name in READ_ONLY if name in arguments]
    if named:
        raise usage(
            f"{named[0]} is read-only; leave it out. It changes when the App is connected on Mergestorm."
        )


def _repository(owner: str, repo: str) -> tuple[str, str]:
    wanted = (owner.strip(), repo.strip())
    if not all(wanted):
        raise usage("owner and repo must name a repository.")
    return wanted


def _repo_summary(stored: Mapping[str, Any]) -> str:
    parts = [f"{stored.get('owner')}/{stored.get('repo')}"]
    for name in ("auto_patch_enabled", "auto_review_enabled", "auto_land_default"):
        value = stored.get(name)
        parts.append(f"{name} {'account' if value is None else 'on' if value is True else 'off'}")
    return one_line(" · ".join(parts), 300)
