"""What `ragit status` and the tool `ragit_status` answer (contract B, with F8's names).

Reading only: no store is made, no provider asked, nothing written. A missing or damaged snapshot or store is part of the
answer and no failure.

    report       `read_status`: the whole answer
    runtime      Python, platform, SQLite
    authority    the index of canonical documents, if a repository has one
    indexing     the store, embedding and who writes
"""

from __future__ import annotations

from ragit_mcp.status.report import StatusReport, read_status

__all__ = ["StatusReport", "read_status"]
