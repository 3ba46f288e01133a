"""`transformer`: a model of one's own, from a local directory in the sentence-transformers layout.

Nothing is downloaded. With the extra `ragit-mcp[transformer]` and a `model.onnx` in the directory, onnxruntime runs it;
otherwise numpy runs `model.safetensors`, which must then be BERT (all-MiniLM, bge, gte, e5 are).

The version of the vectors is a hash of weights, tokenizer and settings: another file is another contract. A directory
that the repository's configuration names must lie in one that the user allowed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, read_regular
from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.lazy import Lazy
from ragit_mcp.embedding.local.bert import BertModel, BertShape
from ragit_mcp.embedding.local.faults import model_fault
from ragit_mcp.embedding.local.model_directory import ModelDirectory, Pooling
from ragit_mcp.embedding.local.safetensors_file import SafetensorsFile
from ragit_mcp.embedding.profile import Profile, model_directory
from ragit_mcp.embedding.providers import Provider, Request
from ragit_mcp.embedding.vectors import FloatArray
from ragit_mcp.errors import ConfigError, EmbeddingError

__all__ = ["open_provider", "resolve"]

_NAME: Final = "transformer"
_MAX_CHARACTERS: Final = 100_000
# onnxruntime takes a graph from memory up to the size limit of protocol buffers.
_MAX_ONNX_BYTES: Final = 2**31 - 1
# Texts of similar length share a batch; more tokens than this at a time only cost memory.
_TOKENS_AT_A_TIME: Final = 8192

#: Token ids of some texts to the last hidden state of each, or to one row where the graph has pooled already.
_Run = Callable[[list[list[int]]], list[FloatArray]]


def resolve(request: Request) -> Profile:
    """Name and directory; version and dimensions come from the files."""
    settings = request.config.embedding
    directory = model_directory(request.config, request.root)
    if directory is None:
        raise ConfigError(
            "CONFIG_INVALID",
            "embedding.model_dir must name the directory of the model for the provider transformer.",
            details={"key": "embedding.model_dir", "reason": "missing"},
        )
    if not request.config.may_use_model_dir(directory):
        raise EmbeddingError(
            "MODEL_NOT_ALLOWED",
            "embedding.model_dir of the repository lies in no directory that you allowed models to be loaded from.",
            details={"provider": settings.provider, "key": "embedding.model_dir"},
        )
    return Profile(settings.provider, settings.model, None, None, cached=True, model_dir=directory)


def open_provider(profile: Profile, environ: Mapping[str, str]) -> Provider:
    """The provider; files are read when the contract or a vector is first needed."""
    del environ  # nothing is configured there
    return TransformerProvider(profile)


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Any
    run: _Run
    pooling: Pooling


class TransformerProvider:
    """Vectors from a transformer's last layer."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._directory = Lazy(self._read)
        self._model = Lazy(self._load)

    @property
    def contract(self) -> EmbeddingContract:
        """The terms, with the hash of the files; reads them once."""
        directory = self._directory.get()
        version = f"{_NAME}-{directory.fingerprint}"
        return EmbeddingContract(self._profile.provider, self._profile.model, version, directory.dimensions)

    def warm(self) -> None:
        """Load tokenizer and weights."""
        self._model.get()

    def prompt(self, purpose: Purpose) -> str:
        """What the model's own configuration puts before a query or a document."""
        return self._directory.get().prompts.get(purpose, "")

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatArray:
        """One row a text; what exceeds the model's longest text is cut."""
        import numpy as np

        model, directory = self._model.get(), self._directory.get()
        prompt = self.prompt(purpose)
        encoded = [
            item.ids
            for item in model.tokenizer.encode_batch_fast([
                (prompt + text)[:_MAX_CHARACTERS] for text in texts
            ])
        ]
        vectors = np.zeros((len(texts), directory.dimensions), dtype=np.float32)
        for batch in _by_length(encoded):
            for place, hidden in zip(batch, model.run([encoded[place] for place in batch]), strict=True):
                vectors[place] = hidden[0] if model.pooling == "cls" else hidden.mean(axis=0)
        if not np.isfinite(vectors).all():
            raise model_fault(_NAME, "weights", "not_finite")
        return vectors

    def _read(self) -> ModelDirectory:
        onnx = importlib.util.find_spec("onnxruntime") is not None
        return ModelDirectory.read(self._profile.model_dir or "", provider=_NAME, onnx=onnx)

    def _load(self) -> _Model:
        from tokenizers import Tokenizer  # heavy, and needed by nobody who does not embed

        directory = self._directory.get()
        try:
            tokenizer = Tokenizer.from_buffer(directory.tokenizer)
            tokenizer.enable_truncation(directory.max_tokens)
            tokenizer.no_padding()
        except Exception:  # noqa: BLE001 - tokenizers raises plain Exception for a file that is none
            raise model_fault(_NAME, "tokenizer", "format") from None
        if directory.runs_onnx:
            return _Model(tokenizer, _onnx_runner(directory), directory.pooling)
        shape = BertShape.from_config(directory.config, _NAME)
        if tokenizer.get_vocab_size() > shape.vocabulary:
            raise model_fault(_NAME, "tokenizer", "vocabulary")
        network = BertModel(SafetensorsFile(directory.weights, provider=_NAME), shape, _NAME)
        return _Model(tokenizer, network.encode, directory.pooling)


def _by_length(encoded: Sequence[Sequence[int]]) -> list[list[int]]:
    """Places of the texts that have tokens, in batches of similar length."""
    batches: list[list[int]] = []
    tokens = _TOKENS_AT_A_TIME
    for place in sorted(
        (place for place, ids in enumerate(encoded) if ids), key=lambda place: -len(encoded[place])
    ):
        if tokens + len(encoded[place]) > _TOKENS_AT_A_TIME:
            batches.append([])
            tokens = 0
        batches[-1].append(place)
        tokens += len(encoded[place])
    return batches


def _onnx_runner(directory: ModelDirectory) -> _Run:
    runtime: Any = importlib.import_module("onnxruntime")  # optional: an extra
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors only: stderr belongs to ragit
    try:
        # From memory, so that the graph cannot refer to further files.
        graph = read_regular(directory.weights, max_bytes=_MAX_ONNX_BYTES)
        session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except FileAccessError as error:
        raise model_fault(_NAME, "weights", error.kind) from None
    except Exception:  # noqa: BLE001 - onnxruntime has its own exceptions for a graph that is none
        raise model_fault(_NAME, "weights", "format") from None
    wanted = {item.name for item in session.get_inputs()}
    if "input_ids" not in wanted or not wanted <= {"input_ids", "attention_mask", "token_type_ids"}:
        raise model_fault(_NAME, "weights", "inputs")

    def run(texts: list[list[int]]) -> list[FloatArray]:
        import numpy as np

        longest = max(map(len, texts))
        tokens = np.zeros((len(texts), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        try:
            output = session.run(None, {name: inputs[name] for name in wanted})[0]
        except Exception:  # noqa: BLE001 - onnxruntime has its own exceptions for a graph that fails
            raise model_fault(_NAME, "weights", "run") from None
        if output.ndim != 3 or output.shape[2] != directory.dimensions:
            raise model_fault(_NAME, "weights", "outputs")
        return [output[row, : len(ids)] for row, ids in enumerate(texts)]

    return run
