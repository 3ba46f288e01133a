"""`ragit query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ragit_mcp.artifacts.input import InputObject
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.highlighting import found_words
from ragit_mcp.cli.input_document import read_input
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.config import Config
from ragit_mcp.embedding import Embedder
from ragit_mcp.retrieval import MAX_TOP_K, SCOPES_ASKED, VIEWS, View, query
from ragit_mcp.retrieval.request import MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["chosen_view", "draw_hits", "draw_snapshot", "opener_of", "run"]

_DECIMALS: Final = 3


def run(context: Context) -> Answer:
    """Search the snapshot."""
    line = context.invocation
    named = line.text("input")
    if named is not None:
        given = InputObject(read_input(context.root, context.place, named), line.command.input_members)
        question = given.text("question", limit=MAX_TEXT_CHARACTERS)
        asked: dict[str, Any] = {
            "top_k": given.integer("topK", least=1, greatest=MAX_TOP_K),
            "at": given.optional_text("at", limit=200),
            "scope": given.choice("scope", SCOPES_ASKED, default="durable"),
            "view": given.choice("view", VIEWS, default="default"),
            "explain": given.flag("explain"),
        }
    else:
        question = " ".join(line.arguments)
        asked = {
            "top_k": line.number("top-k"),
            "at": line.text("at"),
            "scope": line.text("scope") or "durable",
            "view": chosen_view(line.text("view")),
            "explain": line.has("explain"),
        }
    if not question.strip():
        raise usage_error("A question is needed.", reason="missing_argument", command=line.command)
    data = query(
        context.place,
        question,
        config=context.config,
        environ=context.environ,
        opener=opener_of(context),
        **asked,
    )
    return Answer(data, _draw, tuple(data["warnings"]))


def opener_of(context: Context) -> Any:
    """Opens the embedder of the command line: it may ask a remote provider and keeps vectors that were paid for."""

    def open_(config: Config, root: str) -> Embedder:
        from ragit_mcp.embedding.writing import open_writing_embedder  # only the command line keeps vectors

        return open_writing_embedder(config, root, environ=context.environ)

    return open_


def chosen_view(given: str | None) -> View:
    """The view that a flag names."""
    return next((view for view in VIEWS if view == given), "default")


def _draw(screen: Screen, data: Any) -> None:
    draw_snapshot(screen, data["snapshot"])
    if not data["hits"]:
        screen.line("Nothing was found.")
    draw_hits(screen, data["hits"], data["query"])


def draw_snapshot(screen: Screen, snapshot: Any) -> None:
    """The line that says which commit answers."""
    where = "detached" if snapshot["detached"] else snapshot["branch"] or "no branch"
    screen.line((f"commit {(snapshot['resolvedSha'] or '')[:10]} on {where}", "faint"))


def draw_hits(screen: Screen, hits: Any, question: str) -> None:
    """Passages in order: place, score, and the words that were asked for."""
    found = found_words(question)
    for rank, hit in enumerate(hits, start=1):
        screen.blank()
        scores = [f"{hit['scoreFinal']:.{_DECIMALS}f}"]
        if "scoreVector" in hit:
            scores.append(f"vector {hit['scoreVector']:.{_DECIMALS}f}")
            scores.append(f"keywords {hit['scoreKeyword']:.{_DECIMALS}f}")
        screen.line(
            (f"{rank}. ", "faint"),
            (_place(hit), "name"),
            f"  {hit['sectionTitle']}" if hit["sectionTitle"] else "",
            (f"  {', '.join(scores)}", "faint"),
        )
        screen.passage(hit.get("text", hit.get("excerpt", "")), found, indent=3)
        if "scoreBreakdown" in hit:
            for line in _explained(hit["scoreBreakdown"]):
                screen.line((f"   {line}", "faint"))


def _place(hit: Any) -> str:
    citation = hit["citation"]
    first, last = citation.get("lineStart"), citation.get("lineEnd")
    if first is None:
        return str(hit["path"])
    return f"{hit['path']}:{first}" if first == last else f"{hit['path']}:{first}-{last}"


def _explained(breakdown: Any) -> list[str]:
    lines = [
        f"{name}: {part['score']:.{_DECIMALS}f} x {part['weight']:.2f} = {part['contribution']:.{_DECIMALS}f}"
        for name in ("retrieval", "authority", "recency")
        if isinstance(part := breakdown.get(name), dict)
    ]
    return [*lines, f"mode {breakdown.get('mode')}, together {breakdown.get('final')}"]
