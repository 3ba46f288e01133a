"""The forward pass of a BERT encoder in numpy, for models that come without ONNX (Devlin et al., 2018).

Texts are not padded: the tokens of a batch lie one after another, so that every matrix product does useful work only,
and attention runs text by text. GELU is the tanh approximation; the vectors of all-MiniLM-L6-v2 then differ from the
exact ones by a cosine of less than 1e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragit_mcp.embedding.local.faults import model_fault
from ragit_mcp.embedding.local.safetensors_file import SafetensorsFile
from ragit_mcp.embedding.vectors import FloatArray

if TYPE_CHECKING:  # numpy is imported with the model, not with the module
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BertModel", "BertShape"]

_MAX_EXTENT: Final = 1 << 20
#: Names in `config.json`, and ours.
_NUMBERS: Final[dict[str, str]] = {
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "hidden_size": "hidden",
    "intermediate_size": "intermediate",
    "vocab_size": "vocabulary",
    "max_position_embeddings": "positions",
}
_ACTIVATIONS: Final = frozenset({"gelu", "gelu_new", "gelu_pytorch_tanh", "relu"})


@dataclass(frozen=True, slots=True)
class BertShape:
    """The numbers of a model's `config.json` that the forward pass needs."""

    layers: int
    heads: int
    hidden: int
    intermediate: int
    vocabulary: int
    positions: int
    activation: str
    epsilon: float

    @classmethod
    def from_config(cls, config: dict[str, Any], provider: str) -> BertShape:
        """Read and check the numbers.

        Raises:
            EmbeddingError: `MODEL_UNAVAILABLE`: not BERT, or numbers that cannot be.
        """
        if (
            config.get("model_type") != "bert"
            or config.get("position_embedding_type", "absolute") != "absolute"
        ):
            raise model_fault(provider, "config", "architecture", recovery=_WITH_ONNX)
        numbers: dict[str, Any] = {ours: config.get(name) for name, ours in _NUMBERS.items()}
        activation, epsilon = config.get("hidden_act", "gelu"), config.get("layer_norm_eps", 1e-12)
        sound = all(type(number) is int and 0 < number <= _MAX_EXTENT for number in numbers.values())
        if (
            not sound
            or activation not in _ACTIVATIONS
            or not isinstance(epsilon, float)
            or not 0 <= epsilon < 1
        ):
            raise model_fault(provider, "config", "numbers")
        shape = cls(**numbers, activation=activation, epsilon=epsilon)
        if shape.hidden % shape.heads or shape.layers > 128:
            raise model_fault(provider, "config", "numbers")
        return shape


_WITH_ONNX: Final = (
    "put the model's model.onnx beside it and run: python -m pip install 'ragit-mcp[transformer]'"
)


class _Norm:
    def __init__(self, weight: FloatArray, bias: FloatArray, epsilon: float) -> None:
        self._weight, self._bias, self._epsilon = weight, bias, epsilon

    def __call__(self, values: FloatArray) -> FloatArray:
        import numpy as np

        centred = values - values.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(self._epsilon))
        result: FloatArray = centred / spread * self._weight + self._bias
        return result


class _Linear:
    def __init__(self, weight: FloatArray, bias: FloatArray) -> None:
        self._weight, self._bias = weight.T, bias

    def __call__(self, values: FloatArray) -> FloatArray:
        result: FloatArray = values @ self._weight
        result += self._bias
        return result


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Linear
    attended: _Linear
    attended_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    narrowed_norm: _Norm


class BertModel:
    """A BERT encoder.

    Args:
        weights: the tensors, named as `transformers` names them, with or without `bert.` in front.
        shape: the numbers.
        provider: name for errors.

    Raises:
        EmbeddingError: `MODEL_UNAVAILABLE`: a tensor is missing or has another shape.
    """

    def __init__(self, weights: SafetensorsFile, shape: BertShape, provider: str) -> None:
        import numpy as np

        self._shape = shape
        prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
        hidden, wide = shape.hidden, shape.intermediate

        def tensor(name: str, *extents: int) -> FloatArray:
            return weights.tensor(prefix + name, extents).astype(np.float32, copy=False)

        def linear(name: str, rows: int, columns: int) -> _Linear:
            return _Linear(tensor(f"{name}.weight", rows, columns), tensor(f"{name}.bias", rows))

        def norm(name: str) -> _Norm:
            return _Norm(tensor(f"{name}.weight", hidden), tensor(f"{name}.bias", hidden), shape.epsilon)

        def layer(name: str) -> _Layer:
            parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
            return _Layer(
                _Linear(
                    np.concatenate([tensor(f"{part}.weight", hidden, hidden) for part in parts]),
                    np.concatenate([tensor(f"{part}.bias", hidden) for part in parts]),
                ),
                linear(f"{name}.attention.output.dense", hidden, hidden),
                norm(f"{name}.attention.output.LayerNorm"),
                linear(f"{name}.intermediate.dense", wide, hidden),
                linear(f"{name}.output.dense", hidden, wide),
                norm(f"{name}.output.LayerNorm"),
            )

        self._words = tensor("embeddings.word_embeddings.weight", shape.vocabulary, hidden)
        self._positions = tensor("embeddings.position_embeddings.weight", shape.positions, hidden)
        # Only one text is seen at a time: every token is of the first type.
        self._type = weights.tensor(f"{prefix}embeddings.token_type_embeddings.weight")[0].astype(np.float32)
        if self._type.shape != (hidden,):
            raise model_fault(provider, "weights", "tensor")
        self._norm = norm("embeddings.LayerNorm")
        self._layers = [layer(f"encoder.layer.{number}") for number in range(shape.layers)]

    def encode(self, texts: Sequence[Sequence[int]]) -> list[FloatArray]:
        """The last hidden state of each text: one row a token.

        Args:
            texts: token ids of each text, none empty, none longer than the model's positions.
        """
        import numpy as np

        tokens = np.concatenate([np.array(ids, dtype=np.int64) for ids in texts])
        places = np.concatenate([np.arange(len(ids)) for ids in texts])
        ends = np.cumsum([len(ids) for ids in texts])
        values = self._norm(self._words[tokens] + self._positions[places] + self._type)
        for layer in self._layers:
            mixed = self._attention(layer.query_key_value(values), ends)
            values = layer.attended_norm(layer.attended(mixed) + values)
            values = layer.narrowed_norm(layer.narrowed(self._activate(layer.widened(values))) + values)
        return np.split(values, ends[:-1])

    def _attention(self, projected: FloatArray, ends: NDArray[np.int64]) -> FloatArray:
        import numpy as np

        heads, hidden = self._shape.heads, self._shape.hidden
        scale = np.float32((hidden // heads) ** -0.5)
        mixed = np.empty((len(projected), hidden), dtype=np.float32)
        start = 0
        for end in ends:
            query, key, value = projected[start:end].reshape(end - start, 3, heads, -1).transpose(1, 2, 0, 3)
            scores = query @ key.transpose(0, 2, 1) * scale
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=2, keepdims=True)
            mixed[start:end] = (scores @ value).transpose(1, 0, 2).reshape(end - start, hidden)
            start = end
        return mixed

    def _activate(self, values: FloatArray) -> FloatArray:
        import numpy as np

        if self._shape.activation == "relu":
            return np.maximum(values, np.float32(0))
        inner = values * values
        inner *= np.float32(0.044715)
        inner += np.float32(1)
        inner *= values
        inner *= np.float32((2 / np.pi) ** 0.5)
        np.tanh(inner, out=inner)
        inner += np.float32(1)
        inner *= values
        inner *= np.float32(0.5)
        return inner
