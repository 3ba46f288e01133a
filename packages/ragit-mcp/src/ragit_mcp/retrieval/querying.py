"""`query`: the passages of a snapshot that answer a question (contract A13; data of the command and the tool, B)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mcpkit.git import CancelCheck
from ragit_mcp.config import Config
from ragit_mcp.retrieval.hits import VIEWS, View
from ragit_mcp.retrieval.request import MAX_TOP_K, SCOPES_ASKED, check_choice, check_number, check_text
from ragit_mcp.retrieval.searching import EmbedderOpener, Searcher
from ragit_mcp.safety import Redaction, masked_reply

__all__ = ["query"]


def query(
    place: str | os.PathLike[str] | Searcher,
    question: str,
    *,
    top_k: int | None = None,
    at: str | None = None,
    scope: str = "durable",
    view: View = "default",
    explain: bool = False,
    config: Config | None = None,
    cancel: CancelCheck | None = None,
    environ: Mapping[str, str] | None = None,
    opener: EmbedderOpener | None = None,
) -> dict[str, Any]:
    """Search a snapshot.

    Args:
        place: a path in the work tree; or a searcher, which keeps store and model open between calls.
        question: any text.
        top_k: most passages to return, 1 to 1,000; `retrieval.top_k` if None.
        at: the commit, as `select_snapshot` takes it; HEAD's if None.
        scope: one of `SCOPES_ASKED`.
        view: how much of each passage is shown.
        explain: add how each score came about.
        config: the configuration; read from the repository if None.
        cancel: asked now and then whether to stop.
        environ: environment variables; of a searcher its own.
        opener: opens the embedder; of a searcher its own.

    Returns:
        The member `data` of the envelope, masked. Its `warnings` are the envelope's.

    Raises:
        CommandError: `INPUT_INVALID`.
        RagitError: snapshot, configuration, store or embedding.
        SearchCancelled: `cancel` said so.
    """
    if not isinstance(place, Searcher):
        with Searcher(place, environ=environ, opener=opener) as searcher:
            return query(
                searcher,
                question,
                top_k=top_k,
                at=at,
                scope=scope,
                view=view,
                explain=explain,
                config=config,
                cancel=cancel,
            )
    text = check_text("question", question)
    check_choice("scope", scope, SCOPES_ASKED)
    check_choice("view", view, VIEWS)
    if top_k is not None:
        check_number("topK", top_k, MAX_TOP_K)
    with place.search(text, at=at, scope=scope, config=config, cancel=cancel) as search:
        hits = search.best(top_k if top_k is not None else search.config.retrieval.top_k)
        warnings = [*search.warnings]
        if not hits:
            warnings += [
                "No passage of this snapshot has anything to do with the question.",
                *search.advice(),
            ]
        reply = masked_reply({
            "query": search.question,
            "snapshotSha": search.selection.commit,
            "snapshot": search.selection.info.to_json(),
            "scope": scope,
            "explain": explain,
            "hits": [hit.to_json(view, explain=explain) for hit in hits],
            "warnings": warnings,
        })
    data: dict[str, Any] = reply.value
    data["redactionSummary"] = (
        Redaction(search.hidden, ("query",) if search.hidden else ()) + reply.redaction
    ).to_json()
    return data
