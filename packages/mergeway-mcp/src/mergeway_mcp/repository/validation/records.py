"""Records as validation sees them: with the label that tells a person where each one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mergeway_mcp.repository.schema import Entity


class Record(NamedTuple):
    """One record, not yet identified.

    Attributes:
        file: Path of its file from the root; for an inline record, of the configuration file.
        item: 1-based position in a file of several records, else 0.
        inline: It is written in the configuration.
        fields: Derived fields filled in; None for an empty file.
    """

    file: str
    item: int
    inline: bool
    fields: Mapping[str, Any] | None

    @property
    def label(self) -> str:
        """`path`, `path (item N)` or `path (inline N)`."""
        if not self.item:
            return self.file
        return f"{self.file} ({'inline' if self.inline else 'item'} {self.item})"


class LoadedEntity(NamedTuple):
    """An entity and its records in load order, inline ones last."""

    entity: Entity
    records: list[Record]
