"""Serves a FastMCP server over stdin and stdout, with an answer to every request from the first millisecond.

    from mcpkit import stdio
    raise SystemExit(stdio.run("weather.server:mcp", surface="weather/surface.json"))

FastMCP takes about a second to import. Here the handshake (`initialize`, `ping`, `tools/list`) is answered from a
checked-in snapshot while the import runs; whatever else arrives waits, and FastMCP serves it as soon as it is there.
What the SDK's own reader would drop without a word gets its JSON-RPC error, and the session goes on.

The rooms, none of which does another's work; what a message is, `mcpkit.messages` says for this transport and for HTTP:

    framing    bytes to lines, at most 32 MiB each                          pure
    session    era, handshake, waiting and open calls; what to answer       pure, locked
    clock      until when an ending session may take its time               pure
    streams    takes over the file descriptors, writes answers              input and output
    watch      signals, a closed stdout, a dead parent                      input and output
    bridge     passes calls to FastMCP; the only part that needs it         asyncio
    adapter    the threads that connect them, and the end of the process

Only the standard library, and little of it, is imported before the handshake is answered: `typing`, `asyncio`,
`dataclasses`, `logging` and `pathlib` would each cost more than the adapter itself.
"""

from mcpkit.stdio.adapter import run, serve

__all__ = ["run", "serve"]
