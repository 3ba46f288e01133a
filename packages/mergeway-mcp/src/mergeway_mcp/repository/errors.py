"""Everything the engine can refuse, as one tree.

    EngineError
    ├── InvalidArgument    the caller left out what the call needs        kind invalid_arguments
    ├── UnknownEntity      the configuration has no entity of that name   kind unknown_entity
    ├── EntityNotAllowed   it exists, but not for this caller             kind entity_not_allowed
    ├── ObjectNotFound     the entity has no record of that id            kind object_not_found
    └── RepositoryError    the repository cannot be loaded or returned    kind repository_error

Every error carries two texts: `message`, fit for any client, and `detail`, for the operator's eyes (stderr). They
differ only where a client restricted to some entities would otherwise learn about the others. Neither quotes what
files contain: they name file, place and reason, and a file's name only in characters that can be seen.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import ClassVar

from mcpkit.terminal.visible import visible

#: What a client restricted to some entities is told about a fault that lies elsewhere.
HIDDEN_FAULT = (
    "A part of the repository outside the allow-list could not be loaded. "
    "Ask the operator to look at the server's log and mend it."
)


class EngineError(Exception):
    """Root of the tree.

    Attributes:
        kind: Stable name of the failure, part of the interface.
        message: Text any client may see.
        detail: Full text for the operator.
    """

    kind: ClassVar[str] = "engine_error"

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = message if detail is None else detail

    def __str__(self) -> str:
        """The text for clients, so that a careless log or reply cannot say more."""
        return self.message


class InvalidArgument(EngineError):
    """An argument that cannot be used, found before anything is loaded.

    Attributes:
        field: Name of the argument.
    """

    kind = "invalid_arguments"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field


class UnknownEntity(EngineError):
    """No entity of that name is configured."""

    kind = "unknown_entity"

    def __init__(self, entity: str) -> None:
        super().__init__(
            "unknown entity: the configuration has none of that name; entity_list gives the names"
        )
        self.entity = entity


class EntityNotAllowed(EngineError):
    """The entity exists, but the allow-list leaves it out."""

    kind = "entity_not_allowed"

    def __init__(self, entity: str) -> None:
        super().__init__(
            "entity not allowed: the server was started without it; entity_list gives the names it shows"
        )
        self.entity = entity


class ObjectNotFound(EngineError):
    """The entity holds no record with that identifier."""

    kind = "object_not_found"

    def __init__(self, entity: str, identifier: str) -> None:
        super().__init__(f"object not found: {entity} has none of that id; object_list gives the ids")
        self.entity = entity
        self.id = identifier


class RepositoryError(EngineError):
    """The repository, or what was asked of it, cannot be served as it is on disk.

    Attributes:
        reason: What is wrong and how to mend it, without file and place.
        file: Absolute path of the file at fault, or None.
        entity: Entity the fault belongs to, or None.
        item: 1-based position of the record in its file, or None.
        line: 1-based line, or None.
        column: 1-based column, or None.
        place: Where inside the file or entity, in words (`field crew`), or empty.
        entities: All entities the fault involves.
        hidden_origin: The fault lies in an included configuration, which an allow-list hides as a whole.
    """

    kind = "repository_error"

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        entity: str | None = None,
        others: Iterable[str] = (),
        place: str = "",
        item: int | None = None,
        line: int | None = None,
        column: int | None = None,
        hidden_origin: bool = False,
    ) -> None:
        self.reason = reason
        self.file = file
        self.entity = entity
        self.place = place
        self.item = item
        self.line = line
        self.column = column
        self.entities = frozenset((*others, *((entity,) if entity else ())))
        self.hidden_origin = hidden_origin
        super().__init__(self._text(file))

    def presented(self, root: str, allowed: Collection[str] | None) -> RepositoryError:
        """A fresh copy as a client may see it: paths relative to the root, hidden faults masked.

        Args:
            root: Absolute repository root.
            allowed: Names the client may see; None means all.
        """
        shown = RepositoryError(
            self.reason,
            file=self.file,
            entity=self.entity,
            others=self.entities,
            place=self.place,
            item=self.item,
            line=self.line,
            column=self.column,
            hidden_origin=self.hidden_origin,
        )
        hidden = allowed is not None and (self.hidden_origin or not self.entities <= frozenset(allowed))
        shown.message = HIDDEN_FAULT if hidden else self._text(display_path(root, self.file))
        shown.args = (shown.message,)
        return shown

    def _text(self, file: str | None) -> str:
        where = []
        if file is not None:
            where.append(in_words(file))
        if self.line is not None:
            where.append(f"line {self.line}" + ("" if self.column is None else f", column {self.column}"))
        if self.item is not None:
            where.append(f"item {self.item}")
        if self.entity is not None:
            where.append(f"entity {self.entity}")
        if self.place:
            where.append(self.place)
        return ": ".join((*where, self.reason))


def require_argument(field: str, value: str) -> None:
    """Refuse an empty argument before anything is loaded.

    Args:
        field: Name of the argument.
        value: Its text.

    Raises:
        InvalidArgument: The text is empty.
    """
    if not value:
        raise InvalidArgument(field, "is required")


def printable(path: str) -> str:
    """A path as text that can be encoded: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def in_words(path: str) -> str:
    """A path as part of a message: what cannot be encoded or seen is replaced."""
    return visible(printable(path))


def display_path(root: str, path: str | None) -> str | None:
    """A path as a person would write it from the root: relative, with `/`, and `../` where it leaves the root."""
    if path is None:
        return None
    try:
        relative = os.path.relpath(path, root)
    except ValueError:  # another drive on Windows
        return path
    return relative.replace(os.sep, "/")
