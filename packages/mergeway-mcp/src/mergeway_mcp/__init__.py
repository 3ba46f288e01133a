"""A read-only MCP server and a validator for repositories of schema-checked YAML and JSON records."""

__version__ = "0.1.0"
