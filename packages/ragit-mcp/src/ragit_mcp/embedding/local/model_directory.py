"""A model as people download it: the files of a sentence-transformers directory, read and checked.

config.json                          the network
tokenizer.json                       the tokenizer
model.safetensors                    weights, or model.onnx or onnx/model.onnx
modules.json, 1_Pooling/config.json  how tokens become one vector; mean if absent
sentence_bert_config.json            longest text in tokens
config_sentence_transformers.json    words to put before a query or a document
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcpkit.files import FileAccessError, open_regular, read_regular
from ragit_mcp.embedding.local.faults import model_fault
from ragit_mcp.embedding.local.safetensors_file import MAX_MODEL_BYTES

__all__ = ["ModelDirectory", "Pooling"]

Pooling = Literal["mean", "cls"]

_MAX_CONFIG_BYTES: Final = 1 << 20
_MAX_TOKENIZER_BYTES: Final = 64 << 20
_MAX_PROMPT_CHARACTERS: Final = 1000
_READ_BYTES: Final = 1 << 20
_ONNX_NAMES: Final = ("model.onnx", "onnx/model.onnx")
_PLAIN_MODULES: Final = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """What a model directory says.

    Attributes:
        config: `config.json`.
        tokenizer: bytes of `tokenizer.json`.
        weights: path of the file with the weights.
        runs_onnx: the weights are an ONNX graph.
        pooling: how the vectors of tokens become one.
        max_tokens: longest text; the rest is cut.
        prompts: words put before a text, by purpose.
        fingerprint: hash of everything that the vectors depend on, 16 hexadecimal digits.
    """

    config: dict[str, Any]
    tokenizer: bytes
    weights: str
    runs_onnx: bool
    pooling: Pooling
    max_tokens: int
    fingerprint: str
    prompts: dict[str, str] = field(default_factory=dict)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.config["hidden_size"])

    @classmethod
    def read(cls, directory: str, *, provider: str, onnx: bool) -> ModelDirectory:
        """Read a directory.

        Args:
            directory: absolute path; links in it are followed, as download caches are made of them.
            provider: name for errors.
            onnx: an ONNX graph can be run, and is preferred.

        Raises:
            EmbeddingError: `MODEL_UNAVAILABLE`.
        """
        reader = _Reader(directory, provider)
        config = reader.json("config.json")
        hidden, positions = config.get("hidden_size"), config.get("max_position_embeddings")
        if (
            type(hidden) is not int
            or type(positions) is not int
            or not (0 < hidden <= 65_536 and positions > 2)
        ):
            raise model_fault(provider, "config", "numbers")
        onnx_name = next((name for name in _ONNX_NAMES if onnx and reader.has(name)), None)
        weights = onnx_name or "model.safetensors"
        longest = reader.json("sentence_bert_config.json", missing_ok=True).get("max_seq_length")
        max_tokens = min(longest if type(longest) is int and longest > 2 else 512, positions)
        pooling = reader.pooling()
        prompts = reader.prompts()
        tokenizer = reader.content("tokenizer.json", _MAX_TOKENIZER_BYTES, "tokenizer")
        digest = hashlib.sha256(reader.digest(weights))
        for part in (tokenizer, json.dumps([config, pooling, max_tokens, prompts], sort_keys=True).encode()):
            digest.update(hashlib.sha256(part).digest())
        return cls(
            config,
            tokenizer,
            reader.path(weights),
            onnx_name is not None,
            pooling,
            max_tokens,
            digest.hexdigest()[:16],
            prompts,
        )


class _Reader:
    def __init__(self, directory: str, provider: str) -> None:
        self._directory = directory
        self._provider = provider

    def path(self, name: str) -> str:
        return os.path.join(self._directory, *name.split("/"))

    def has(self, name: str) -> bool:
        return os.path.isfile(self.path(name))

    def content(self, name: str, max_bytes: int, part: str) -> bytes:
        try:
            return read_regular(self.path(name), max_bytes=max_bytes)
        except FileAccessError as error:
            raise model_fault(self._provider, part, error.kind) from None

    def json(self, name: str, *, missing_ok: bool = False) -> dict[str, Any]:
        if missing_ok and not self.has(name):
            return {}
        value = self._parsed(name)
        if not isinstance(value, dict):
            raise model_fault(self._provider, "config", "json")
        return value

    def _parsed(self, name: str) -> Any:
        try:
            return json.loads(self.content(name, _MAX_CONFIG_BYTES, "config"))
        except (ValueError, RecursionError):
            raise model_fault(self._provider, "config", "json") from None

    def digest(self, name: str) -> bytes:
        try:
            with open_regular(self.path(name), max_bytes=MAX_MODEL_BYTES) as stream:
                digest = hashlib.sha256()
                while part := stream.read(_READ_BYTES):
                    digest.update(part)
                return digest.digest()
        except FileAccessError as error:
            raise model_fault(self._provider, "weights", error.kind) from None
        except OSError:
            raise model_fault(self._provider, "weights", "unreadable") from None

    def pooling(self) -> Pooling:
        place = "1_Pooling"
        if self.has("modules.json"):
            modules = self._parsed("modules.json")
            if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
                raise model_fault(self._provider, "modules", "json")
            kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
            # A projection after pooling, or anything else, would be left out silently.
            if not set(kinds) <= set(_PLAIN_MODULES):
                raise model_fault(self._provider, "modules", "kind")
            if "Pooling" in kinds:
                place = str(modules[kinds.index("Pooling")].get("path", place))
                if os.path.isabs(place) or ".." in place.replace("\\", "/").split("/"):
                    raise model_fault(self._provider, "modules", "path")
        settings = self.json(f"{place}/config.json", missing_ok=True)
        chosen = {
            name for name, value in settings.items() if name.startswith("pooling_mode_") and value is True
        }
        known: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        if not chosen:
            return "mean"
        if len(chosen) != 1 or not chosen <= set(known):
            raise model_fault(self._provider, "pooling", "kind")
        return known[chosen.pop()]

    def prompts(self) -> dict[str, str]:
        prompts = self.json("config_sentence_transformers.json", missing_ok=True).get("prompts")
        if not isinstance(prompts, dict):
            return {}
        return {
            purpose: text
            for purpose in ("document", "query")
            if isinstance(text := prompts.get(purpose), str) and 0 < len(text) <= _MAX_PROMPT_CHARACTERS
        }
