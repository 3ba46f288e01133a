"""What every server of this workspace needs and nothing of any one of them.

Importing the package imports nothing else: each room (`mcpkit.stdio`, `mcpkit.http`, ...) is imported by
whoever needs it, so that a console script can answer the handshake before FastMCP is loaded.
"""

__version__ = "0.1.0"
