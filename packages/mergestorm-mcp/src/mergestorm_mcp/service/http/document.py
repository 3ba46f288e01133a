"""The OpenAPI document, and the route that serves it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["DOCUMENT", "document", "routes"]

DOCUMENT: Final = __file__.removesuffix("document.py") + "openapi.json"
"""The file that is served. Its request parts repeat the models; `packages/mergestorm-mcp/openapi.py` writes them."""


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The document."""
    with open(DOCUMENT, encoding="utf-8") as file:
        read: dict[str, Any] = json.load(file)
    return read


def routes() -> list[Route]:
    """`/openapi.json`, for anyone who may come in at all."""
    return [Route("/openapi.json", _serve, methods=["GET"])]


async def _serve(_request: Request) -> Response:
    text = json.dumps(document(), ensure_ascii=False, separators=(",", ":"))
    return Response(text, 200, {"X-Content-Type-Options": "nosniff"}, "application/json")
