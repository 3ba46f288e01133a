"""Retrieval: which passages of a snapshot answer a question, how sure that is, and how they are quoted.

    querying     `query`: the command's and the tool's data
    searching    `Searcher`: snapshot, store, model and keywords of one call, kept open between calls
    ranking      all passages in order
    similarity   vectors: an exact scan         keywords    BM25 within the snapshot
    fusion       making the two comparable      scoring     authority, age, and the sum
    hits         passages and their views       citations   what they are quoted by
    request      what may be asked

Reading only. numpy and apsw are imported when something is searched.
"""

from __future__ import annotations

from ragit_mcp.retrieval.citations import Citation, citation_id
from ragit_mcp.retrieval.hits import VIEWS, Hit, View, delivered_text
from ragit_mcp.retrieval.querying import query
from ragit_mcp.retrieval.request import MAX_TOP_K, SCOPES_ASKED
from ragit_mcp.retrieval.scoring import ScoreBreakdown
from ragit_mcp.retrieval.searching import EmbedderOpener, Search, SearchCancelled, Searcher

__all__ = [
    "MAX_TOP_K",
    "SCOPES_ASKED",
    "VIEWS",
    "Citation",
    "EmbedderOpener",
    "Hit",
    "ScoreBreakdown",
    "Search",
    "SearchCancelled",
    "Searcher",
    "View",
    "citation_id",
    "delivered_text",
    "query",
]
