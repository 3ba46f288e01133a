"""What reading a file can end in, when it does not end in a value."""

from __future__ import annotations


class YamlError(Exception):
    """A file that cannot be read as data.

    Attributes:
        reason: What is wrong and how to mend it. Never quotes the file's content.
        line: 1-based line of the fault, or None where it has no place.
        column: 1-based column (in characters) of the fault, or None.
    """

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason, line, column)
        self.reason = reason
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """The reason with its place, fit for a client."""
        if self.line is None:
            return self.reason
        if self.column is None:
            return f"line {self.line}: {self.reason}"
        return f"line {self.line}, column {self.column}: {self.reason}"


class NotAMapping(YamlError):
    """A readable document whose top level is a list or a scalar where keys and values are needed."""
