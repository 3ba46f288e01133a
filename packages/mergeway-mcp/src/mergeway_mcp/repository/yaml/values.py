"""The values a document is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

from .timestamp import Timestamp

#: None, bool, int, float, str, Timestamp, list of values or dict of values. Maps below the top may have keys of
#: any scalar type; equal aliases share one object, so nothing here may be changed in place.
Value: TypeAlias = "bool | int | float | str | Timestamp | list[Any] | dict[Any, Any] | None"
