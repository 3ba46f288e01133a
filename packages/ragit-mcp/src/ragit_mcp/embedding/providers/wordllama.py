"""`wordllama`, the default: real meaning offline, from 32,000 token vectors that an installed package carries.

A text's vector is the weighted mean of the vectors of its tokens. The weight of a token is a / (a + p), where p is how
often the token occurs in general English documentation (smooth inverse frequency: Arora, Liang and Ma, "A Simple but
Tough-to-Beat Baseline for Sentence Embeddings", 2017). p is a fixed table, `wordllama_frequencies.bin`: a text has the same
vector in every repository, so chunks stay addressed by their content.

Only two data files of the package `wordllama` are used; none of its code runs, as it configures logging and may look
for files on the network. Both files are checked against their SHA-256, on the bytes that are then used.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, read_regular
from ragit_mcp.embedding.contract import EmbeddingContract, Purpose
from ragit_mcp.embedding.lazy import Lazy
from ragit_mcp.embedding.local.faults import model_fault
from ragit_mcp.embedding.local.plain_words import plain_words
from ragit_mcp.embedding.local.safetensors_file import SafetensorsFile
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import Provider, Request
from ragit_mcp.embedding.vectors import FloatArray
from ragit_mcp.errors import EmbeddingError

__all__ = [
    "FREQUENCIES_FILE",
    "WEIGHTS_SHA256",
    "open_provider",
    "package_file",
    "resolve",
    "shared_tokenizer",
]

_NAME: Final = "wordllama"
_MODEL: Final = "l2_supercat_256"
_TOKENS: Final = 32_000
_DIMENSIONS: Final = 256
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TENSOR: Final = "embedding.weight"
WEIGHTS_SHA256: Final = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_TOKENIZER_SHA256: Final = "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83"
_TOKENIZER_MAX_BYTES: Final = 16 * 2**20
FREQUENCIES_FILE: Final = os.path.join(os.path.dirname(__file__), "wordllama_frequencies.bin")

# Counts one up whenever the same text comes out as another vector: preparation, weights, table.
_RECIPE: Final = 1
_VERSION: Final = f"{_MODEL}-{WEIGHTS_SHA256[:8]}-r{_RECIPE}"

#: The a of the weights. Headings finding their sections in documentation that the table was not counted from gives
#: MRR@10 .291 unweighted, .330 for 7e-4, .333 for 1e-3, .338 for 2e-3 (3,296 headings, in part of other documents than
#: documentation of software; on READMEs alone the best is 3e-4 to 1e-3).
_SMOOTHING: Final = 1e-3
#: Logarithms of frequencies are kept in eighths of a factor of two.
_STEPS_PER_OCTAVE: Final = 8
# Longer texts are cut: a mean over so many words does not change any more, and a query stays bounded.
_MAX_CHARACTERS: Final = 100_000
# Texts whose token vectors are in memory at a time.
_TEXTS_AT_A_TIME: Final = 64


def resolve(request: Request) -> Profile:
    """Nothing can be chosen: model, version and dimensions are those of the data."""
    return Profile(request.config.embedding.provider, _MODEL, _VERSION, _DIMENSIONS)


def open_provider(profile: Profile, environ: Mapping[str, str]) -> Provider:
    """The provider; the data is loaded when it is first needed."""
    del environ  # nothing is configured there
    return WordLlamaProvider(profile)


def package_file(name: str) -> str:
    """Where a file of the installed package is. The package is found, not imported.

    Raises:
        EmbeddingError: `MODEL_UNAVAILABLE`.
    """
    found = importlib.util.find_spec(_NAME)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if not places:
        raise _fault("package", "not_found")
    return os.path.join(places[0], *name.split("/"))


def token_weights(frequencies: bytes) -> FloatArray:
    """The weight of each token from the packed table of its frequencies: one byte each, -log2(p) in eighths."""
    import numpy as np

    if len(frequencies) != _TOKENS:
        raise _fault("frequencies", "size")
    probability = np.exp2(np.frombuffer(frequencies, dtype=np.uint8) / -_STEPS_PER_OCTAVE)
    return (_SMOOTHING / (_SMOOTHING + probability)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Any
    vectors: Any  # [tokens, dimensions], float16, in the mapped file
    weights: FloatArray


class WordLlamaProvider:
    """Weighted means of token vectors."""

    def __init__(self, profile: Profile) -> None:
        self.contract = EmbeddingContract(profile.provider, _MODEL, _VERSION, _DIMENSIONS)
        self._model = Lazy(_load)

    def warm(self) -> None:
        """Load tokenizer and vectors."""
        self._model.get()

    def prompt(self, purpose: Purpose) -> str:
        """None."""
        del purpose
        return ""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatArray:
        """One row a text; queries and documents alike."""
        import numpy as np

        del purpose
        model = self._model.get()
        vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_A_TIME):
            part = [plain_words(text[:_MAX_CHARACTERS]) for text in texts[start : start + _TEXTS_AT_A_TIME]]
            # Text by text, not as one product over the batch: a vector must not depend on its neighbours, not even
            # in its last bit. It is also the fastest of the ways that were measured.
            for place, item in enumerate(
                model.tokenizer.encode_batch_fast(part, add_special_tokens=False), start
            ):
                if item.ids:
                    tokens = np.array(item.ids, dtype=np.int64)
                    vectors[place] = model.weights[tokens] @ model.vectors[tokens].astype(np.float32)
        return vectors


def _load_tokenizer() -> Any:
    from tokenizers import Tokenizer  # heavy, and needed by nobody who does not embed

    configuration = _read(package_file(_TOKENIZER), _TOKENIZER_MAX_BYTES, "tokenizer")
    if hashlib.sha256(configuration).hexdigest() != _TOKENIZER_SHA256:
        raise _fault("tokenizer", "sha256")
    return Tokenizer.from_buffer(configuration)


_tokenizer: Final = Lazy(_load_tokenizer)


def shared_tokenizer() -> Any:
    """The model's tokenizer, loaded once a process: a `tokenizers.Tokenizer`, not to be changed.

    Raises:
        EmbeddingError: `MODEL_UNAVAILABLE`.
    """
    return _tokenizer.get()


def _load() -> _Model:
    weights = SafetensorsFile(package_file(_WEIGHTS), provider=_NAME)
    if weights.sha256() != WEIGHTS_SHA256:
        raise _fault("weights", "sha256")
    frequencies = _read(FREQUENCIES_FILE, _TOKENS, "frequencies")
    return _Model(
        shared_tokenizer(), weights.tensor(_TENSOR, (_TOKENS, _DIMENSIONS)), token_weights(frequencies)
    )


def _read(path: str, max_bytes: int, part: str) -> bytes:
    try:
        return read_regular(path, max_bytes=max_bytes)
    except FileAccessError as error:
        raise _fault(part, error.kind) from None


def _fault(part: str, reason: str) -> EmbeddingError:
    return model_fault(
        _NAME,
        part,
        reason,
        recovery="python -m pip install --force-reinstall ragit-mcp wordllama==0.2.2.post0",
    )
