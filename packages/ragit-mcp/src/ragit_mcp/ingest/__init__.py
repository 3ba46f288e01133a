"""Indexing: from the commit's objects to a new generation of the store and a manifest. The only room that writes them.

    run          `ingest`: the steps in order
    request      what is asked for, what is answered
    plan         which documents of the commit, on which base
    documents    reading, masking, admission, chunks
    lock         one writer at a time
    journal      how far an ingest came
    generation   building the next generation: a copy with more rows, or a fresh file
    publishing   verifying it and making it current; manifests; cleaning up
    files        the few writes that are not SQLite's

Nothing that reads imports this package; a test proves it.

    result = ingest(root, IngestRequest(mode="all"))
"""

from __future__ import annotations

from ragit_mcp.ingest.request import Embedder, IngestRequest, IngestResult, Progress, ProgressListener
from ragit_mcp.ingest.run import IngestCancelled, ingest

__all__ = [
    "Embedder",
    "IngestCancelled",
    "IngestRequest",
    "IngestResult",
    "Progress",
    "ProgressListener",
    "ingest",
]
