"""Retrieval over an exact git snapshot: the `ragit` indexer and the strictly read-only `ragit-mcp` server."""

__version__ = "0.1.0"
