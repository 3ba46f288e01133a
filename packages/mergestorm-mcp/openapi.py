"""Brings the request parts of the local service's `openapi.json` in line with the models that read requests.

uv run packages/mergestorm-mcp/openapi.py
"""

from __future__ import annotations

import json
from pathlib import Path

from mergestorm_mcp.service.http.app import api_routes
from mergestorm_mcp.service.http.described import described_inputs, openapi_path
from mergestorm_mcp.service.http.document import DOCUMENT

document = json.loads(Path(DOCUMENT).read_text(encoding="utf-8"))
for route in api_routes():
    operation = document["paths"][openapi_path(route)][route.method.lower()]
    for name in ("parameters", "requestBody", "security"):
        operation.pop(name, None)
    operation.update(described_inputs(route))
text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
Path(DOCUMENT).write_text(text, encoding="utf-8", newline="\n")
