"""Counting model tokens, for a context budget in tokens.

One tokenizer for every provider, so that a budget means the same with each: the one that comes with the default model,
byte-pair encoding with the vocabulary of Llama 2. Other models count a little differently; the name says whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ragit_mcp.embedding.providers.wordllama import shared_tokenizer

__all__ = ["TOKENIZER_NAME", "count_tokens"]

TOKENIZER_NAME: Final = "llama-2"


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, as it is, without marks for begin and end.

    Raises:
        EmbeddingError: `MODEL_UNAVAILABLE`.
    """
    sound = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    encoded = shared_tokenizer().encode_batch_fast(sound, add_special_tokens=False)
    return [len(item.ids) for item in encoded]
