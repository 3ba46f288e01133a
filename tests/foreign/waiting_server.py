"""A server on mcpkit whose one interesting tool waits to be cancelled, and tells a listener what befalls it.

    python waiting_server.py stdio|http PORT

`wait` connects to PORT on this machine, sends a line `started`, and, when it is cancelled, a line `cancelled`.
"""

from __future__ import annotations

import sys
from typing import Any

from mcpkit.isolation import seal_settings

seal_settings()


def load() -> Any:
    """The server; imports FastMCP."""
    import anyio

    from mcpkit.annotations import CLOSED_READ
    from mcpkit.server import add_tool, create_server

    app = create_server(name="waiting", version="1", instructions="Call wait.")

    async def wait() -> dict[str, Any]:
        async with await anyio.connect_tcp("127.0.0.1", int(sys.argv[2])) as listener:
            await listener.send(b"started\n")
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await listener.send(b"cancelled\n")
                raise
        return {}

    async def answer() -> dict[str, Any]:
        return {"answer": 42}

    for function in (wait, answer):
        add_tool(
            app,
            function,
            annotations=CLOSED_READ,
            title=function.__name__,
            description=f"{function.__name__} for the test",
            output_schema={"type": "object"},
        )
    return app


if __name__ == "__main__":
    if sys.argv[1] == "http":
        from mcpkit import http

        raise SystemExit(http.serve(load, host="127.0.0.1", port=0))
    sys.modules["waiting"] = sys.modules["__main__"]  # stdio.run imports the server by name
    from mcpkit import stdio

    raise SystemExit(stdio.run("waiting:load"))
