"""The store, as readers see it: generations of one SQLite file each, opened immutable.

    layout       files and the pointer to the current generation
    schema       tables
    terms        under which words a text is found
    database     opening a file that somebody may have prepared
    membership   the passages of a snapshot as arrays
    reader       `open_store`, `Store`
    sharing      how a reader holds a generation
    holder       a store that stays open and follows the pointer
    writer_state who is writing, for `status`

Writing is in `ragit_mcp.ingest`; nothing here can reach it. apsw and numpy are imported when a store is opened.
"""

from __future__ import annotations

from ragit_mcp.store.holder import StoreHolder
from ragit_mcp.store.layout import Pointer, read_pointer
from ragit_mcp.store.membership import Membership
from ragit_mcp.store.reader import Store, StoredChunk, StoredDocument, StoreStatistics, open_store
from ragit_mcp.store.schema import SCOPES
from ragit_mcp.store.terms import FREQUENCIES, Field, query_terms, text_terms
from ragit_mcp.store.writer_state import WriterState, read_writer_state

__all__ = [
    "FREQUENCIES",
    "SCOPES",
    "Field",
    "Membership",
    "Pointer",
    "Store",
    "StoreHolder",
    "StoreStatistics",
    "StoredChunk",
    "StoredDocument",
    "WriterState",
    "open_store",
    "query_terms",
    "read_pointer",
    "read_writer_state",
    "text_terms",
]
