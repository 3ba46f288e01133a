"""Base classes of what requests carry: bodies and queries. Pydantic only, so that rooms can describe what they take."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

__all__ = ["Body", "Digits", "Name", "NotNull", "Query"]


class Body(BaseModel):
    """A request body: exactly its fields, no conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Query(BaseModel):
    """Query parameters: exactly its fields. All arrive as text; see `Digits` for numbers."""

    model_config = ConfigDict(extra="forbid")


def _decimal(value: object) -> object:
    if isinstance(value, str):
        if not (value.isascii() and value.removeprefix("-").isdigit() and len(value) <= 18):
            raise ValueError("a whole number in decimal digits")
        return int(value)
    return value


Digits = BeforeValidator(_decimal)
"""For whole numbers in a query, after their bounds: `Annotated[int, Field(ge=1), Digits]`. Bounds that come later would
count, but be missing from the OpenAPI document.
"""

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
"""The name of an owner or a repository, in a body or a query."""


def _refuse_null(value: object) -> object:
    if value is None:
        raise ValueError("leave it out instead of sending null")
    return value


NotNull = BeforeValidator(_refuse_null)
"""For members that may be left out and may not be null, after their bounds: `Annotated[str | None, Field(...), NotNull]`."""
