"""The MCP server: three tools that read, and nothing else.

    inputs      what a call may ask, checked by ourselves: the published schema only describes
    envelopes   the one shape of every reply
    tools       the server itself

No module that writes is reachable from here; a test walks the imports.
"""
