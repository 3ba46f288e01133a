"""Every setting that can be changed, as the models of the requests that change them, and what counts until one does."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints

from mergestorm_mcp.service.http.bodies import Body, Name

__all__ = ["DEFAULTS", "REPOSITORY_SETTINGS", "RepositorySettingsBody", "SettingsBody"]

_Login = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9\[\]-]*)$")
]
_Path = Annotated[str, StringConstraints(min_length=1, max_length=500)]
_Batch = Annotated[int, Field(ge=2, le=8)]


class SettingsBody(Body):
    """What `PATCH /settings` takes: any of these, at least one. A member that is null is refused."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    auto_review_enabled: bool = True
    auto_patch_enabled: bool = False
    vortex_show_thinking_traces: bool = False
    repo_overview_enabled: bool = True
    review_unit_land_prs_enabled: bool = False
    cyclone_skip_ci_enabled: bool = False
    cyclone_patch_unverified_languages: bool = False
    vortex_auto_overflow_enabled: bool = False
    vortex_skip_all_clear_comments: bool = False
    vortex_seam_specialist_enabled: bool = True
    auto_land_default: bool = False
    merge_queue_batch_enabled: bool = False
    auto_resolve_conflicts_enabled: bool = False
    auto_fix_ci_enabled: bool = False
    auto_land_settle_seconds: Annotated[int, Field(ge=15, le=300)] = 60
    merge_queue_batch_size: _Batch = 4
    ignored_bot_logins: Annotated[list[_Login], Field(max_length=100)] = Field(default_factory=list)
    vortex_bot_skip_check: Literal["none", "neutral"] = "none"
    vortex_findings_check: Literal["failure", "neutral", "success"] = "neutral"
    cyclone_patch_failure_check: Literal["failure", "neutral"] = "neutral"


class RepositorySettingsBody(Body):
    """What `PATCH /repo-settings` takes: the repository and at least one setting; null clears one."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 3})

    owner: Name
    repo: Name
    auto_patch_enabled: bool | None = None
    auto_review_enabled: bool | None = None
    auto_land_default: bool | None = None
    merge_queue_batch_enabled: bool | None = None
    merge_queue_batch_size: _Batch | None = None
    merge_queue_lands_alone_paths: Annotated[list[_Path], Field(max_length=100)] | None = None
    merge_queue_overdrive: bool | None = None


DEFAULTS: Final[dict[str, Any]] = SettingsBody().model_dump()
REPOSITORY_SETTINGS: Final = tuple(RepositorySettingsBody.model_fields)[2:]
