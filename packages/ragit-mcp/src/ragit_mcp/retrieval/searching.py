"""From a question to a ranking: snapshot, configuration, store, masked question, vector, keywords (contract A13).

The order is the contract's: a snapshot that cannot be read is refused before a provider is asked anything. A `Searcher`
keeps what is dear to open (the store, the model, looked-up words, what it saw of snapshots) for the next call; each call sees the configuration,
the commit and the generation of its own time. Reading only: nothing here can reach a module that writes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from mcpkit.git import CancelCheck, GitError, Repository
from ragit_mcp.artifacts import ArtifactPassage, artifact_passages, read_artifacts
from ragit_mcp.config import Config, load_config
from ragit_mcp.corpus import CandidateFilter, Placement, embedding_text, path_from_git
from ragit_mcp.corpus.selection import suggest_include
from ragit_mcp.embedding import Embedder, Payload, open_embedder
from ragit_mcp.errors import RagitError
from ragit_mcp.retrieval.fusion import sharpness_of
from ragit_mcp.retrieval.hits import Hit
from ragit_mcp.retrieval.keywords import KeywordIndex, LooseText
from ragit_mcp.retrieval.ranking import Ranking, ScoredArtifact
from ragit_mcp.safety import masked_text
from ragit_mcp.snapshots import Selection, SnapshotMemory, open_repository, select_snapshot, work_tree_root
from ragit_mcp.snapshots.repository import coded_git_errors
from ragit_mcp.store import Membership, Store, StoreHolder
from ragit_mcp.store.layout import store_unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["EmbedderOpener", "Search", "SearchCancelled", "Searcher"]

EmbedderOpener = Callable[[Config, str], Embedder]

# An ingest may replace manifest and store between the look at one and at the other.
_ATTEMPTS: Final = 3
_KEPT_INDEXES: Final = 8
_KEPT_ARTIFACT_VECTORS: Final = 8_192


class SearchCancelled(Exception):
    """The caller lost interest."""


@dataclass(frozen=True, slots=True)
class Search:
    """One question against one snapshot.

    Attributes:
        question: the question, masked.
        config: the configuration that holds.
        selection: the snapshot.
        scope: the scope that was asked for.
        ranking: its passages in order.
        hidden: secrets that were hidden in the question.
        warnings: what the reply has to warn of, but for what the result itself gives cause to.
        advice: what to tell somebody whom nothing was found for; costs a look at the commit.
    """

    question: str
    config: Config
    selection: Selection
    scope: str
    ranking: Ranking
    hidden: int
    warnings: tuple[str, ...]
    advice: Callable[[], tuple[str, ...]]

    def best(self, count: int) -> list[Hit]:
        """The best hits."""
        return self.ranking.first(count)


class Searcher:
    """Searches one repository, call after call; usable from several threads.

    Args:
        place: a path in the work tree.
        environ: environment variables; the process's own if None.
        opener: opens the embedder; one that only reads if None. The command line gives one that may ask a remote
            provider and keep its vectors.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        environ: Mapping[str, str] | None = None,
        opener: EmbedderOpener | None = None,
    ) -> None:
        self._place = os.fspath(place)
        self._environ = os.environ if environ is None else environ
        self._opener = opener or self._open_reading
        self._lock = threading.Lock()
        self._snapshots = SnapshotMemory()
        self._holder: StoreHolder | None = None
        self._embedder: tuple[tuple[Any, ...], Embedder] | None = None
        self._indexes: OrderedDict[tuple[str, int], tuple[Membership, KeywordIndex]] = OrderedDict()
        self._artifact_vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the store go; searches that use it finish first."""
        with self._lock:
            holder, self._holder = self._holder, None
            self._indexes.clear()
        if holder is not None:
            holder.close()

    def warm(self) -> None:
        """Load model and vectors ahead of the first question; what fails here fails again where it can be reported."""
        with contextlib.suppress(RagitError):
            repository = open_repository(self._place)
            root = work_tree_root(repository)
            embedder = self._embedder_for(load_config(root, environ=self._environ), root)
            embedder.embed(["warm"], purpose="query")
        with contextlib.suppress(RagitError):
            selection = select_snapshot(open_repository(self._place), memory=self._snapshots)
            with self._store_of(selection) as (store, members):
                store.vectors()
                self._index(store, members)

    @contextlib.contextmanager
    def search(
        self,
        question: str,
        *,
        at: str | None = None,
        scope: str = "durable",
        config: Config | None = None,
        cancel: CancelCheck | None = None,
    ) -> Iterator[Search]:
        """Rank a snapshot's passages for a question; the ranking can be read until the block ends.

        Args:
            question: any text; masked here.
            at: see `select_snapshot`.
            scope: one of `SCOPES_ASKED`.
            config: the configuration; read from the repository if None.
            cancel: asked now and then whether to stop.

        Raises:
            RagitError: the snapshot, the configuration, the store or the embedding, as their rooms say.
            SearchCancelled: `cancel` said so.
        """
        check = _Check(cancel)
        masked = masked_text(question)
        with contextlib.ExitStack() as stack:
            with _cancelled_git():
                repository = open_repository(self._place, cancel=cancel)
                selection, store, members = self._select(repository, at, scope, stack, check)
            settings = config or load_config(selection.root, environ=self._environ)
            passages = () if scope == "durable" else _live_passages(selection.root, scope)
            check()
            ranking, warnings = self._rank(settings, selection, store, members, masked.text, passages, check)
            told = tuple(f"{item.key} ({item.origin}) {item.message}" for item in settings.warnings)
            yield Search(
                question=masked.text,
                config=settings,
                selection=selection,
                scope=scope,
                ranking=ranking,
                hidden=masked.hidden,
                warnings=(*selection.warnings, *told, *warnings),
                advice=lambda: _advice(repository, selection, settings),
            )

    def _select(
        self,
        repository: Repository,
        at: str | None,
        scope: str,
        stack: contextlib.ExitStack,
        check: _Check,
    ) -> tuple[Selection, Store, Membership]:
        """Snapshot, store and passages that belong together."""
        for attempt in range(1, _ATTEMPTS + 1):
            selection = select_snapshot(repository, at=at, memory=self._snapshots)
            check()
            try:
                store, members = stack.enter_context(self._store_of(selection, scope))
            except RagitError as error:
                if error.details.get("reason") != "membership" or attempt == _ATTEMPTS:
                    raise
            else:
                return selection, store, members
        raise AssertionError("unreachable")

    @contextlib.contextmanager
    def _store_of(self, selection: Selection, scope: str = "durable") -> Iterator[tuple[Store, Membership]]:
        try:
            with self._holder_for(selection.root).use() as store:
                # Other scopes are served from the artifacts on disk, which a review may change at any time.
                served = "durable" if scope in {"durable", "all"} else scope
                yield store, selection.membership(store, served)
        except RagitError as error:
            if error.details.get("resolvedSha", "") is None:
                error.details["resolvedSha"] = selection.commit
            raise

    def _rank(
        self,
        config: Config,
        selection: Selection,
        store: Store,
        members: Membership,
        question: str,
        passages: Sequence[ArtifactPassage],
        check: _Check,
    ) -> tuple[Ranking, list[str]]:
        alpha = float(config.retrieval.alpha) if config.retrieval.keyword_enabled else 1.0
        warnings: list[str] = []
        vector = None
        cosines: list[float | None] = [None] * len(passages)
        if alpha > 0:
            embedder = self._embedder_for(config, selection.root)
            if embedder.contract.identity != store.contract.identity:
                raise store_unavailable("embedding_contract", resolved_sha=selection.commit)
            vector = embedder.embed([question], purpose="query")[0]
            check()
            cosines, kept_back = self._similarities(embedder, passages, vector)
            if kept_back:
                warnings.append(
                    f"{kept_back} artifacts rank by keywords alone: their text may not leave this machine."
                )
        by_keywords = alpha < 1 or (config.retrieval.keyword_enabled and None in cosines)
        keywords = None
        if by_keywords:
            loose = [LooseText.of(passage.text, passage.section_title) for passage in passages]
            keywords = self._index(store, members).score(question, loose)
        check()
        scores = keywords.loose if keywords is not None else (0.0,) * len(passages)
        artifacts = [
            ScoredArtifact(passage, cosine, score)
            for passage, cosine, score in zip(passages, cosines, scores, strict=True)
        ]
        ranking = Ranking(
            store,
            members,
            alpha=alpha,
            vector=vector,
            keywords=keywords,
            artifacts=artifacts,
            sharpness=sharpness_of(store.contract.provider),
        )
        return ranking, warnings

    def _similarities(
        self, embedder: Embedder, passages: Sequence[ArtifactPassage], vector: npt.NDArray[np.float32]
    ) -> tuple[list[float | None], int]:
        """Similarity of each artifact passage, None where the policy keeps its text here; and how many those are."""
        cosines: list[float | None] = [None] * len(passages)
        kept_back = 0
        kinds: tuple[Payload, ...] = ("artifact", "evidence")
        for payload in kinds:
            places = [place for place, item in enumerate(passages) if item.source_type == payload]
            if not places:
                continue
            if not embedder.may_embed(payload):
                kept_back += len(places)
                continue
            texts = [
                embedding_text("", (passages[place].section_title,), passages[place].text) for place in places
            ]
            vectors = self._artifact_embeddings(embedder, texts, payload)
            for place, found in zip(places, vectors, strict=True):
                cosines[place] = float((found.astype("float64") * vector.astype("float64")).sum())
        return cosines, kept_back

    def _artifact_embeddings(
        self, embedder: Embedder, texts: Sequence[str], payload: Payload
    ) -> list[npt.NDArray[np.float32]]:
        """Vectors of artifact texts; remembered, for a file that does not change is asked about again and again."""
        keys = [_digest(embedder.identity, text) for text in texts]
        with self._lock:
            known = {key: self._artifact_vectors[key] for key in keys if key in self._artifact_vectors}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            found = embedder.embed(list(missing.values()), payload=payload)
            known.update(zip(missing, found, strict=True))
            with self._lock:
                self._artifact_vectors.update({key: known[key] for key in missing})
                while len(self._artifact_vectors) > _KEPT_ARTIFACT_VECTORS:
                    self._artifact_vectors.popitem(last=False)
        return [known[key] for key in keys]

    def _index(self, store: Store, members: Membership) -> KeywordIndex:
        # The store gives the same object for the same passages as long as it is open and remembers them.
        key = (store.generation, id(members))
        with self._lock:
            kept = self._indexes.get(key)
            if kept is None or kept[0] is not members:
                kept = (members, KeywordIndex(store, members))
                self._indexes[key] = kept
            self._indexes.move_to_end(key)
            for stale in [other for other in self._indexes if other[0] != store.generation]:
                del self._indexes[stale]
            while len(self._indexes) > _KEPT_INDEXES:
                self._indexes.popitem(last=False)
            return kept[1]

    def _holder_for(self, root: str) -> StoreHolder:
        with self._lock:
            if self._holder is None:
                self._holder = StoreHolder(root)
            return self._holder

    def _embedder_for(self, config: Config, root: str) -> Embedder:
        key = (config.embedding, config.trust, config.security)
        with self._lock:
            if self._embedder is None or self._embedder[0] != key:
                self._embedder = (key, self._opener(config, root))
            return self._embedder[1]

    def _open_reading(self, config: Config, root: str) -> Embedder:
        return open_embedder(config, root, environ=self._environ)


class _Check:
    """Stops a search that nobody waits for."""

    def __init__(self, cancel: CancelCheck | None) -> None:
        self._cancel = cancel

    def __call__(self) -> None:
        if self._cancel is not None and self._cancel():
            raise SearchCancelled


@contextlib.contextmanager
def _cancelled_git() -> Iterator[None]:
    """A question to git that was stopped on request is no fault of the repository."""
    try:
        yield
    except RagitError as error:
        if error.code == "REPOSITORY_UNUSABLE" and error.details.get("reason") == "cancelled":
            raise SearchCancelled from error
        raise


def _live_passages(root: str, scope: str) -> list[ArtifactPassage]:
    """The passages of the artifacts on disk, masked: their files are whatever somebody put there."""
    return [
        dataclasses.replace(
            passage,
            text=masked_text(passage.text).text,
            section_title=masked_text(passage.section_title).text,
        )
        for passage in artifact_passages(read_artifacts(root).records, scope)
    ]


def _advice(repository: Repository, selection: Selection, config: Config) -> tuple[str, ...]:
    """Why nothing may have been found: documents that the globs leave out, and the command that adds them."""
    ingest = config.ingest
    placed = CandidateFilter(doc_globs=ingest.doc_globs, include=ingest.include, exclude=ingest.exclude)
    try:
        with coded_git_errors():
            paths = [
                path_from_git(entry.path) for entry in repository.list_tree(selection.commit, sizes=False)
            ]
    except (RagitError, GitError):
        return ()
    outside = [path for path in paths if placed.place(path) is Placement.OUTSIDE]
    command = suggest_include(outside, ingest.include)
    if command is None:
        return ()
    lie, are, them = ("file lies", "is", "it") if len(outside) == 1 else ("files lie", "are", "them")
    return (
        f"{len(outside)} .md or .mdx {lie} outside the include globs and {are} not indexed; to add {them}: {command}",
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
