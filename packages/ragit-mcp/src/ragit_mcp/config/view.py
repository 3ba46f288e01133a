"""The configuration as code uses it: one frozen class a section, and where each value came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from ragit_mcp.config.schema import BUILT_IN_MODELS, PROVIDERS, SETTINGS, Value
from ragit_mcp.config.trust import Trust

__all__ = ["Config", "ConfigWarning", "Origin", "build_config"]


class Origin(StrEnum):
    """Who chose a value. Only `USER` and `ENVIRONMENT` are choices of whoever runs ragit."""

    DEFAULT = "default"
    REPOSITORY = "repository"
    USER = "user"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """Something in a configuration that was not taken as it stands.

    Attributes:
        key: the setting or section; of a name that is unknown only what may be shown.
        origin: the source it stands in.
        message: what was done, in words that follow the key; holds no value.
    """

    key: str
    origin: Origin
    message: str


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """`[project]`"""

    name: str
    default_branch: str
    mode: str


@dataclass(frozen=True, slots=True)
class InitConfig:
    """`[init]`"""

    strategy: str
    merge_existing: bool


@dataclass(frozen=True, slots=True)
class DocsConfig:
    """`[docs]`"""

    entrypoint: str
    workspace_map: str
    ingestion_policy: str
    known_gaps: str
    adr_dir: str


@dataclass(frozen=True, slots=True)
class DocsAuthorityConfig:
    """`[docs_authority]`"""

    auto_refresh_on_hook: bool
    validate_on_ingest: bool
    canonical_root: str


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """`[storage]`"""

    backend: str
    manifest_dir: str
    vector_dir: str


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """`[embedding]`; `model` is resolved, `timeout_ms` is in milliseconds."""

    provider: str
    model: str
    timeout_ms: int
    cache_enabled: bool
    cache_dir: str
    dimensions: int | None
    version: str | None
    base_url: str | None
    model_dir: str | None


@dataclass(frozen=True, slots=True)
class IngestConfig:
    """`[ingest]`; `max_file_bytes` is in bytes."""

    supported_types: tuple[str, ...]
    type_detection: str
    doc_globs: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_file_bytes: int


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """`[hooks]`"""

    post_commit: bool
    post_merge: bool


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """`[retrieval]`; `alpha` is the share of vectors, 0 to 1."""

    alpha: float
    top_k: int
    keyword_enabled: bool
    budget_unit: Literal["words", "tokens"]


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """`[memory]`"""

    corpus_dir: str
    session_dir: str
    working_dir: str
    auto_ingest_promotions: bool
    recall_top_k: int


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """`[security]`"""

    secret_masking: bool
    remote_embedding_policy: Literal["allow-sanitized", "local-only"]
    quarantine_on_redaction: bool
    admission_mode: Literal["enforce", "report-only"]


@dataclass(frozen=True, slots=True)
class OutputConfig:
    """`[output]`"""

    format: Literal["text", "json", "both"]
    language: str


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting with a value.

    Attributes:
        trust: what the user allowed outside the repository.
        values: every key with its value, as `config list` shows them.
        origins: every key with who chose its value.
        warnings: what was passed over or replaced.
        repository_file: whether the repository has a `.ragit/config.toml`.
    """

    project: ProjectConfig
    init: InitConfig
    docs: DocsConfig
    docs_authority: DocsAuthorityConfig
    storage: StorageConfig
    embedding: EmbeddingConfig
    ingest: IngestConfig
    hooks: HooksConfig
    retrieval: RetrievalConfig
    memory: MemoryConfig
    security: SecurityConfig
    output: OutputConfig
    trust: Trust
    values: Mapping[str, Value]
    origins: Mapping[str, Origin]
    warnings: tuple[ConfigWarning, ...]
    repository_file: bool

    def chosen_by_user(self, key: str) -> bool:
        """Whether whoever runs ragit chose a value outside the repository."""
        return self.origins[key] in {Origin.USER, Origin.ENVIRONMENT}

    def may_use_model_dir(self, directory: str) -> bool:
        """Whether a model may be loaded from the directory that `embedding.model_dir` names."""
        return self.chosen_by_user("embedding.model_dir") or self.trust.allows_model_dir(directory)


VIEWS: Final[Mapping[str, type[Any]]] = {
    "project": ProjectConfig,
    "init": InitConfig,
    "docs": DocsConfig,
    "docs_authority": DocsAuthorityConfig,
    "storage": StorageConfig,
    "embedding": EmbeddingConfig,
    "ingest": IngestConfig,
    "hooks": HooksConfig,
    "retrieval": RetrievalConfig,
    "memory": MemoryConfig,
    "security": SecurityConfig,
    "output": OutputConfig,
}
"""The class of each section but `[trust]`, which is read as `Config.trust`."""


def build_config(
    values: Mapping[str, Value],
    origins: Mapping[str, Origin],
    *,
    trust: Trust,
    warnings: tuple[ConfigWarning, ...],
    repository_file: bool,
) -> Config:
    """The view of values that have been checked; settings that depend on others are resolved here."""
    resolved = dict(values)
    provider, model = str(values["embedding.provider"]), values["embedding.model"]
    if model is None or (model in BUILT_IN_MODELS and model != PROVIDERS[provider]):
        resolved["embedding.model"] = PROVIDERS[provider]
    sections: dict[str, dict[str, Value]] = {section: {} for section in VIEWS}
    for setting in SETTINGS.values():
        if setting.section in sections:
            sections[setting.section][setting.name] = resolved[setting.key]
    views: dict[str, Any] = {section: VIEWS[section](**members) for section, members in sections.items()}
    return Config(
        **views,
        trust=trust,
        values=resolved,
        origins=dict(origins),
        warnings=warnings,
        repository_file=repository_file,
    )
