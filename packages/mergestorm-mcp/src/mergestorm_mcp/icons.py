"""The server's picture, for clients that show one beside its name: two branches that meet in a bolt of lightning.

Drawn for this project and carried in the handshake as data, so that no client fetches anything to show it. There are no
PNG files: none are published at an address of ours, and a client that cannot draw SVG shows the title alone.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from mcp_types import Icon

__all__ = ["ICONS"]

# Short on purpose: in the 2026-07-28 era every answer repeats the server's description.
_DRAWING: Final = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke-width='3' stroke-linecap='round' "
    "stroke-linejoin='round'><path stroke='{branches}' d='M5 4v3c0 6 9 3 11 9M27 4v3c0 6-9 3-11 9'/>"
    "<path stroke='{bolt}' d='M17 15l-5 8h7l-5 7'/></svg>"
)


def _icon(theme: str, branches: str, bolt: str) -> Icon:
    drawing = quote(_DRAWING.format(branches=branches, bolt=bolt), safe="'=:/,")
    return Icon.model_validate({
        "src": f"data:image/svg+xml,{drawing}",
        "mimeType": "image/svg+xml",
        "sizes": ["any"],
        "theme": theme,
    })


ICONS: Final = (
    _icon("light", branches="#1e293b", bolt="#d97706"),
    _icon("dark", branches="#e2e8f0", bolt="#fbbf24"),
)
"""For light and for dark backgrounds."""
