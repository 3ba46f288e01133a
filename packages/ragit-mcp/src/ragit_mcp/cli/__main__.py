"""`python -P -m ragit_mcp.cli`: how git hooks start ragit without an activated environment."""

from __future__ import annotations

import sys

from ragit_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
