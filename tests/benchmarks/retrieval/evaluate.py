"""Compares rankers on the frozen questions: BM25, vectors, plain rank fusion, the reference's formula, and ours.

    uv run python -m tests.benchmarks.retrieval.evaluate [--half tune|report] [--transformer DIRECTORY] [--name NAME]
        [--work FOLDER] [--write FILE]

Every ranker gets the same chunks, vectors and keyword scores of one indexed repository per corpus; only what it makes of
them differs. `ours` is the product: `ragit_mcp.retrieval.query`. Prints Markdown: the three figures of each ranker and, for
ours against each other one, the mean difference with its 95 % interval (paired bootstrap, see metrics.py). DIRECTORY
holds a model in the sentence-transformers layout, all-MiniLM-L6-v2 for the figures that are published. FOLDER keeps the
indexed repositories between runs.

Parameters were chosen with `--half tune`; `--half report` is for figures that are shown (README.md, Rules).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from tests.benchmarks.plain_git import git
from tests.benchmarks.retrieval.corpora import CORPORA, documents, write
from tests.benchmarks.retrieval.metrics import RANK_DEPTH, Scores, Span, mean, paired_bootstrap, score
from tests.benchmarks.retrieval.questions import HALVES, Question, load
from tests.benchmarks.retrieval.reference_formula import candidate_count, keyword_share, retrieval_score
from tests.benchmarks.retrieval.tables import model_tables

from ragit_mcp.config import Config, load_config
from ragit_mcp.embedding import open_embedder
from ragit_mcp.ingest import IngestRequest, ingest
from ragit_mcp.retrieval import Searcher, query
from ragit_mcp.retrieval.keywords import KeywordIndex
from ragit_mcp.retrieval.similarity import exact_similarities
from ragit_mcp.snapshots import open_repository, select_snapshot

#: The constant of reciprocal rank fusion as it is used everywhere (Cormack, Clarke and Büttcher 2009).
RRF_CONSTANT: Final = 60
OURS: Final = "ours"

Array = npt.NDArray[np.float64]
Results = dict[str, dict[str, Scores]]


class Material(NamedTuple):
    """What every ranker is given for one question: one entry per passage of the snapshot."""

    question: str
    spans: Sequence[Span]
    texts: Sequence[str]
    cosines: Array
    bm25: Array


def by_bm25(given: Material) -> list[int]:
    """Keywords alone; passages without any are not ranked."""
    return [place for place in _order(given.bm25) if given.bm25[place] > 0]


def by_vectors(given: Material) -> list[int]:
    """Similarity alone."""
    return _order(given.cosines)


def by_rank_fusion(given: Material) -> list[int]:
    """Plain reciprocal rank fusion of the two."""
    fused = np.zeros(len(given.spans))
    for order in (by_vectors(given), by_bm25(given)):
        for rank, place in enumerate(order, 1):
            fused[place] += 1 / (RRF_CONSTANT + rank)
    return _order(fused)


def by_reference_formula(given: Material) -> list[int]:
    """Contract A13: the nearest passages, ranked again by cosine and share of matched words."""
    nearest = by_vectors(given)[: candidate_count(RANK_DEPTH)]
    scores = np.full(len(given.spans), -np.inf)
    for place in nearest:
        scores[place] = retrieval_score(
            given.cosines[place], keyword_share(given.question, given.texts[place])
        )
    return [place for place in _order(scores) if np.isfinite(scores[place])]


BASELINES: Final[Mapping[str, Callable[[Material], list[int]]]] = {
    "BM25 alone": by_bm25,
    "vectors alone": by_vectors,
    "plain RRF": by_rank_fusion,
    "reference formula (A13)": by_reference_formula,
}


def evaluate(questions: Sequence[Question], folder: Path, environ: Mapping[str, str]) -> Results:
    """The scores of every ranker for every question."""
    results: Results = {name: {} for name in (*BASELINES, OURS)}
    for corpus in CORPORA:
        asked = [question for question in questions if question.corpus == corpus]
        root = folder / corpus
        config = load_config(root if root.is_dir() else None, environ=environ)
        _indexed(corpus, root, config, environ)
        with contextlib.ExitStack() as stack:
            searcher = stack.enter_context(Searcher(root, environ=environ))
            materials = _materials(asked, root, config, environ)
            for question, given in zip(asked, materials, strict=True):
                for name, ranker in BASELINES.items():
                    found = [given.spans[place] for place in ranker(given)[: 3 * RANK_DEPTH]]
                    results[name][question.id] = score(found, question.passages)
                hits = query(searcher, question.text, top_k=3 * RANK_DEPTH, view="minimal")["hits"]
                spans = [_span(hit["citation"]) for hit in hits]
                results[OURS][question.id] = score(spans, question.passages)
    return results


def _indexed(corpus: str, root: Path, config: Config, environ: Mapping[str, str]) -> None:
    if not root.is_dir():
        root.mkdir(parents=True)
        write(documents(CORPORA[corpus]), root)
        (root / ".gitignore").write_text(".ragit/\n", encoding="utf-8")
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "documents")):
            git(root, *command)
    ingest(root, IngestRequest(), config=config, environ=environ)


def _materials(
    asked: Sequence[Question], root: Path, config: Config, environ: Mapping[str, str]
) -> Iterator[Material]:
    vectors = open_embedder(config, root, environ=environ).embed([q.text for q in asked], purpose="query")
    selection = select_snapshot(open_repository(root))
    with selection.open_store() as store:
        members = selection.membership(store)
        paths = {row: document.path for row, document in store.documents(members.documents).items()}
        places = zip(members.documents, members.first_lines, members.last_lines, strict=True)
        spans = [Span(paths[int(row)], int(first), int(last)) for row, first, last in places]
        texts = [chunk.text for chunk in store.chunks(members.rows)]
        index = KeywordIndex(store, members)
        for question, vector in zip(asked, vectors, strict=True):
            cosines = exact_similarities(store.vectors(), members.rows, vector)
            yield Material(
                question.text, spans, texts, cosines, index.score(question.text).scores[members.rows]
            )


def _span(citation: Mapping[str, object]) -> Span:
    return Span(str(citation["path"]), int(str(citation["lineStart"])), int(str(citation["lineEnd"])))


def _order(scores: Array) -> list[int]:
    """Best first; equals in document order."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def summary(half: str, results: Results) -> dict[str, Any]:
    """The figures of one model as they are kept: see `tables.model_tables`."""
    differences: dict[str, list[list[float]]] = {}
    for name in BASELINES:
        differences[name] = []
        for figure in Scores._fields:
            mine = {question: getattr(found, figure) for question, found in results[OURS].items()}
            theirs = {question: getattr(found, figure) for question, found in results[name].items()}
            interval = paired_bootstrap(mine, theirs)
            differences[name].append([interval.difference, interval.low, interval.high])
    return {
        "half": half,
        "questions": len(results[OURS]),
        "rankers": {name: list(mean(scores.values())) for name, scores in results.items()},
        "ours_minus": differences,
    }


def main() -> int:
    """Evaluates one half with each model and prints the tables."""
    parser = argparse.ArgumentParser(description="Compare rankers on the frozen questions.")
    parser.add_argument("--half", choices=HALVES, default="tune")
    parser.add_argument("--transformer", type=Path, help="directory of a local sentence-transformers model")
    parser.add_argument("--name", default="all-MiniLM-L6-v2", help="what to call that model")
    parser.add_argument("--write", type=Path, help="also keep the figures in this JSON file")
    parser.add_argument("--work", type=Path, help="keep the indexed repositories here")
    options = parser.parse_args()
    questions = load(options.half)
    models: dict[str, dict[str, str]] = {"wordllama": {}}
    if options.transformer is not None:
        models[options.name] = {
            "RAGIT_EMBEDDING_PROVIDER": "transformer",
            "RAGIT_EMBEDDING_MODEL_DIR": str(options.transformer.resolve()),
        }
    found: dict[str, dict[str, Any]] = {}
    with contextlib.ExitStack() as stack:
        folder = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="retrieval-")))
        for name, settings in models.items():
            kept = {key: value for key, value in os.environ.items() if not key.startswith("RAGIT_")}
            environ = {
                **kept,
                "RAGIT_USER_CONFIG": str(folder.resolve() / "none.toml"),
                "RAGIT_INGEST_INCLUDE": "**",
                **settings,
            }
            results = evaluate(questions, folder.resolve() / name, environ)
            found[name] = summary(options.half, results)
            print(model_tables(name, found[name]), flush=True)
    if options.write is not None:
        text = json.dumps({"models": found}, indent=1) + "\n"
        options.write.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
