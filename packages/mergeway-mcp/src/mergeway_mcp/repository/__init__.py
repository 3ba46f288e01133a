"""The repository engine: configuration, records, identity and validation, usable without MCP."""
