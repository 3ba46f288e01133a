"""Every preset states all four hints."""

import pytest
from mcp_types import ToolAnnotations

from mcpkit import annotations


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (annotations.READ, (True, False, True, True)),
        (annotations.CLOSED_READ, (True, False, True, False)),
        (annotations.WRITE, (False, False, False, True)),
        (annotations.IDEMPOTENT_WRITE, (False, False, True, True)),
        (annotations.DESTRUCTIVE_WRITE, (False, True, None, True)),
        (annotations.IDEMPOTENT_DESTRUCTIVE_WRITE, (False, True, True, True)),
    ],
)
def test_a_preset_is_read_only_destructive_idempotent_open_world(
    preset: ToolAnnotations, expected: tuple[bool | None, ...]
) -> None:
    hints = (preset.read_only_hint, preset.destructive_hint, preset.idempotent_hint, preset.open_world_hint)
    assert all(isinstance(hint, bool) for hint in hints)
    assert all(want is None or hint is want for hint, want in zip(hints, expected, strict=True))


def test_every_public_name_is_a_preset() -> None:
    assert all(isinstance(getattr(annotations, name), ToolAnnotations) for name in annotations.__all__)
