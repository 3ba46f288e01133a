"""Every failure that ragit reports on purpose: code, category, exit code and the command that helps.

    RagitError                    everything below
    ├── ConfigError               CONFIG_*: `.ragit/config.toml`, user configuration, environment, `config set`
    ├── IngestError               INGEST_*: what was asked to be indexed, or its base
    ├── SnapshotError             SNAPSHOT_*, REPOSITORY_*: which commit, and whether it can be read
    ├── StoreError                STORE_*: the store and its write lock
    ├── EmbeddingError            providers of vectors, and what may leave the machine
    ├── ArtifactError             ARTIFACT_*: reviewed knowledge of sessions and of the harness
    ├── CommandError              CLI_*, INPUT_*, WRITE_FAILED: the command line and what it writes beside the store
    └── ServerError               MCP_*: owned by the server

`ERRORS` is the register: one line a code, from which documentation and tests are made. A caller names the code and
says what happened; category, exit code and, unless the case knows better, the recovery command follow from the
register. Messages and details reach clients: they hold no secret, no input value and no absolute path.

Codes, categories and exit codes of the contract are A15 and B; codes beyond them end with exit 1 there, and so here.
Standard library only, and nothing is imported from the rest of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

__all__ = [
    "ERRORS",
    "ArtifactError",
    "Category",
    "CommandError",
    "ConfigError",
    "EmbeddingError",
    "ErrorFacts",
    "IngestError",
    "RagitError",
    "ServerError",
    "SnapshotError",
    "StoreError",
]

Category = Literal["corrupt_or_incompatible", "invalid_input", "not_ready", "transient"]

_EXIT_CODES: Final[Mapping[Category, int]] = {
    "invalid_input": 2,
    "not_ready": 3,
    "transient": 3,
    "corrupt_or_incompatible": 4,
}


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What is always true of a code.

    Attributes:
        category: whose turn it is: the caller's, the operator's, or nobody's but time's.
        recovery: the command or step that usually helps.
        retryable: the same call may succeed later without anything being changed.
        exit_code: exit code of the command line.
    """

    category: Category
    recovery: str
    retryable: bool
    exit_code: int


def _coded(category: Category, recovery: str) -> ErrorFacts:
    """A code of the contract's table: the exit code follows from the category, as does `retryable`."""
    return ErrorFacts(category, recovery, category == "transient", _EXIT_CODES[category])


def _plain(category: Category, recovery: str) -> ErrorFacts:
    """A code that the contract's table lacks: there it is a plain error, which ends with exit 1."""
    return ErrorFacts(category, recovery, category == "transient", 1)


ERRORS: Final[Mapping[str, ErrorFacts]] = MappingProxyType({
    "ARTIFACT_NOT_FOUND": _plain("invalid_input", "ragit status --format json"),
    "CLI_USAGE": _plain("invalid_input", "ragit --help"),
    "CONFIG_EDIT_UNSUPPORTED": _plain("invalid_input", "edit .ragit/config.toml by hand"),
    "CONFIG_INVALID": _plain("invalid_input", "correct the named setting, then run: ragit config list"),
    "CONFIG_KEY_UNKNOWN": _plain("invalid_input", "ragit config list"),
    "CONFIG_NOT_INITIALIZED": _plain("not_ready", "ragit init --yes"),
    "CONFIG_UNREADABLE": _plain("not_ready", "ragit doctor"),
    "CONFIG_VALUE_INVALID": _plain("invalid_input", "ragit config list"),
    "CONFIG_WRITE_FAILED": _plain("not_ready", "ragit doctor"),
    "INGEST_BASE_NOT_ANCESTOR": _coded("invalid_input", "ragit ingest --all"),
    "INGEST_BASE_NOT_INDEXED": _coded("not_ready", "ragit ingest --all"),
    "INGEST_CANDIDATES_DIRTY": _coded("not_ready", "git status --short"),
    "INGEST_DOCUMENT_BLOCKED": _plain(
        "invalid_input", "take the credentials out of the document, commit, and retry"
    ),
    "INGEST_GLOB_INVALID": _plain("invalid_input", "correct the glob pattern and retry"),
    "INGEST_PATH_INVALID": _plain("invalid_input", "name a .md or .mdx file relative to the repository"),
    "INGEST_RECOVERY_REQUIRED": _coded("not_ready", "ragit doctor"),
    "INPUT_INVALID": _plain("invalid_input", "ragit describe <command>"),
    "INGEST_STORE_WRITE_UNVERIFIED": _coded("transient", "ragit ingest --all"),
    "SNAPSHOT_MANIFEST_INVALID": _coded("corrupt_or_incompatible", "ragit ingest --all"),
    "SNAPSHOT_NOT_INDEXED": _coded("not_ready", "ragit ingest --all"),
    "SNAPSHOT_REF_AMBIGUOUS": _coded("invalid_input", "git rev-parse --disambiguate=<prefix>"),
    "SNAPSHOT_REF_INVALID": _coded("invalid_input", "git rev-parse --verify HEAD"),
    "SNAPSHOT_SCHEMA_UNSUPPORTED": _coded(
        "corrupt_or_incompatible", "python -m pip install --upgrade ragit-mcp"
    ),
    "SNAPSHOT_STORE_UNAVAILABLE": _coded("not_ready", "ragit ingest --all"),
    "REPOSITORY_STATE_CHANGED": _coded("transient", "retry when the repository is at rest"),
    "REPOSITORY_UNUSABLE": _plain("not_ready", "name a directory inside the work tree of a git repository"),
    "STORE_REBUILD_PROMOTION_FAILED": _coded("transient", "ragit doctor"),
    "STORE_REBUILD_UNREBUILDABLE": _coded("not_ready", "ragit ingest --all"),
    "STORE_REBUILD_VERIFICATION_FAILED": _coded("corrupt_or_incompatible", "ragit doctor"),
    "STORE_WRITE_BUSY": _coded("transient", "retry when the other ragit process has finished"),
    "STORE_WRITE_LOCK_STALE": _coded("not_ready", "ragit doctor"),
    "CREDENTIAL_MISSING": _plain("not_ready", "set the provider's key in the environment and retry"),
    "DIMENSION_MISMATCH": _plain("corrupt_or_incompatible", "ragit config list"),
    "EGRESS_NOT_ALLOWED": _plain(
        "not_ready", "allow the host in your user configuration ([trust] hosts) or in RAGIT_TRUST_HOSTS"
    ),
    "MODEL_NOT_ALLOWED": _plain(
        "not_ready", "allow the directory in your user configuration ([trust] model_dirs)"
    ),
    "MODEL_UNAVAILABLE": _plain("not_ready", "ragit doctor"),
    "PROVIDER_UNREACHABLE": _plain("transient", "ragit doctor"),
    "PROVIDER_UNSUPPORTED": _plain("invalid_input", "ragit config list"),
    "RESPONSE_INVALID": _plain("corrupt_or_incompatible", "ragit doctor"),
    "TIMEOUT": _plain("transient", "retry, or raise embedding.timeout_ms"),
    "WRITE_FAILED": _plain("not_ready", "make room and make sure that you may write there, then retry"),
    "MCP_INTERNAL_ERROR": _plain("transient", "ragit doctor"),
    "MCP_INVALID_INPUT": _coded("invalid_input", "Correct the tool arguments and retry."),
    "MCP_REMOTE_EMBEDDING_CACHE_MISS": _coded(
        "not_ready", "run the same query once with the ragit command line"
    ),
})
"""The register of codes; a code that is not in it cannot be raised."""


class RagitError(Exception):
    """A failure with a code.

    Args:
        code: stable name of the case, a key of `ERRORS`.
        message: what is wrong and what to do next, in words for people.
        details: further members for programs; JSON values.
        recovery: the command or step that helps in this case, where it differs from the register's.

    Raises:
        KeyError: the code is not in the register: a mistake of the caller's, found by its first test.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        recovery: str | None = None,
    ) -> None:
        facts = ERRORS[code]
        super().__init__(message)
        self.code: str = code
        self.message: str = message
        self.category: Category = facts.category
        self.retryable: bool = facts.retryable
        self.exit_code: int = facts.exit_code
        self.details: dict[str, Any] = dict(details or {})
        self.recovery: str = recovery or facts.recovery

    def payload(self) -> dict[str, Any]:
        """The `error` member of an envelope, members in the contract's order (A15)."""
        return {
            "code": self.code,
            "category": self.category,
            "message": self.message,
            "retryable": self.retryable,
            "details": self.details,
            "recovery": {"command": self.recovery},
        }


class ConfigError(RagitError):
    """A setting, a configuration file, or an edit of one."""


class IngestError(RagitError):
    """What was asked to be indexed, or the base it was to build on."""


class SnapshotError(RagitError):
    """Which commit is read, and whether its index can be."""


class StoreError(RagitError):
    """The store and its write lock."""


class EmbeddingError(RagitError):
    """A provider of vectors, or the rule about what may leave the machine."""


class ArtifactError(RagitError):
    """An artifact that was named or that is kept on disk."""


class CommandError(RagitError):
    """The command line itself, its input document, or a file that a command writes beside the store."""


class ServerError(RagitError):
    """A failure that belongs to the server, not to the engine."""
