"""The repository engine: configuration, records, identity and validation, usable without MCP.

repository = Repository("path/to/root")
snapshot = repository.snapshot()
snapshot.get("Service", "billing")
"""

from __future__ import annotations

from .errors import (
    EngineError,
    EntityNotAllowed,
    InvalidArgument,
    ObjectNotFound,
    RepositoryError,
    UnknownEntity,
    require_argument,
)
from .snapshot import Snapshot
from .store import Repository

__all__ = [
    "EngineError",
    "EntityNotAllowed",
    "InvalidArgument",
    "ObjectNotFound",
    "Repository",
    "RepositoryError",
    "Snapshot",
    "UnknownEntity",
    "require_argument",
]
