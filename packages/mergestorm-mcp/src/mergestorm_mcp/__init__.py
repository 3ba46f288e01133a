"""MCP server, CLI and local service for Mergestorm: reviews, stacked pull requests and a merge queue."""

__version__ = "0.1.0"
