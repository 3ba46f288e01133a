"""Models that run in this process: the default, the placeholder, and a transformer checked against plain arithmetic."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import ragit_mcp.embedding.providers.wordllama as wordllama
from ragit_mcp.config import Config
from ragit_mcp.embedding.lazy import Lazy
from ragit_mcp.embedding.local.bert import BertModel, BertShape
from ragit_mcp.embedding.local.plain_words import plain_words
from ragit_mcp.embedding.local.safetensors_file import SafetensorsFile
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.embedding.providers import Provider, open_provider, resolve_profile
from ragit_mcp.embedding.tokens import count_tokens
from ragit_mcp.embedding.vectors import unit_vectors
from ragit_mcp.errors import EmbeddingError, RagitError

Configured = Callable[..., Config]

# --- local-placeholder


def test_the_placeholder_gives_the_recorded_vectors(
    placeholder_case: dict[str, Any], configured: Configured
) -> None:
    given, expect = placeholder_case["input"], placeholder_case["expect"]
    settings = {"embedding.provider": "local-placeholder", "embedding.dimensions": given["dims"]}
    provider = open_provider(resolve_profile(configured(settings), environ={}))
    (vector,) = unit_vectors(provider.embed([given["text"]], "document"))
    assert len(vector) == provider.contract.dimensions == given["dims"]
    assert vector[:8].tolist() == pytest.approx(expect["first8"], abs=1e-6)
    assert bool((vector == 0).all()) is expect["zero"]
    repeat = expect["repeats_every"]
    assert (vector[repeat:] == vector[:-repeat]).all() or given["dims"] <= repeat


def test_a_version_set_for_the_placeholder_is_its_version(configured: Configured) -> None:
    settings = {"embedding.provider": "local-placeholder", "embedding.version": "v2"}
    contract = resolve_profile(configured(settings), environ={}).contract
    assert contract is not None
    assert contract.namespace_id == "091a54a830efa254"


# --- wordllama


@pytest.fixture(scope="module")
def default_model() -> Provider:
    """The default provider, loaded once for this file."""
    return wordllama.open_provider(Profile("wordllama", "l2_supercat_256", None, None), {})


def _similarities(provider: Provider, question: str, passages: list[str]) -> list[float]:
    vectors = unit_vectors(provider.embed([question, *passages], "query"))
    similarities: list[float] = (vectors[1:] @ vectors[0]).tolist()
    return similarities


def test_the_default_needs_no_setting_and_ignores_what_another_provider_left(configured: Configured) -> None:
    plain = resolve_profile(configured(), environ={})
    left = {"embedding.dimensions": 64, "embedding.version": "v1", "embedding.model": "placeholder-v1"}
    assert resolve_profile(configured(left), environ={}) == plain
    assert (plain.provider, plain.dimensions, plain.egress, plain.in_process) == (
        "wordllama",
        256,
        "local",
        True,
    )
    assert plain.contract is not None
    assert "64b47a2d" in plain.contract.version


def test_the_default_finds_meaning_without_a_word_in_common(default_model: Provider) -> None:
    passages = [
        "The daemon restarts itself after a crash and resumes unfinished jobs.",
        "Butter and sugar are whisked until pale, then eggs are added.",
        "The invoice must be paid within thirty days of receipt.",
    ]
    for place, question in enumerate((
        "what happens when the process dies",
        "how do I bake a cake",
        "payment deadline for bills",
    )):
        similarities = _similarities(default_model, question, passages)
        assert similarities.index(max(similarities)) == place


def test_case_identifier_style_and_punctuation_hardly_matter(default_model: Provider) -> None:
    similarities = _similarities(
        default_model,
        "work tree state",
        ["WORK TREE STATE", "workTreeState", "work_tree_state", "| work | tree | state |"],
    )
    assert min(similarities) > 0.999


def test_a_vector_does_not_depend_on_its_neighbours(default_model: Provider) -> None:
    generator = random.Random(5)
    words = ["commit", "snapshot", "index", "vector", "the", "of", "a", "is", "reader", "writer"]
    texts = [" ".join(generator.choices(words, k=generator.randint(0, 60))) for _ in range(200)]
    together = default_model.embed(texts, "document")
    alone = np.concatenate([default_model.embed([text], "query") for text in texts])
    assert (together == alone).all()


@pytest.mark.parametrize("text", ["", " ", "\n\t", "!?.,;", "🙂🙂"])
def test_text_without_words_has_a_vector_of_zeros(text: str, default_model: Provider) -> None:
    assert not default_model.embed([text, "word"], "document")[0].any()


@pytest.mark.parametrize(
    "text", ["\0", "日本語の文書", "결정 기록", "नमस्ते दुनिया", "a" * 300_000, "x " * 200_000]
)
def test_unusual_text_has_a_finite_vector(text: str, default_model: Provider) -> None:
    assert np.isfinite(default_model.embed([text], "document")).all()


def test_weights_fall_with_frequency() -> None:
    packed = Path(wordllama.FREQUENCIES_FILE).read_bytes()
    weights = wordllama.token_weights(packed)
    assert weights.shape == (32_000,)
    assert 0 < weights.min() < 0.05 < 0.95 < weights.max() <= 1
    order = np.argsort(np.frombuffer(packed, dtype=np.uint8), kind="stable")
    assert (np.diff(weights[order]) >= 0).all()


def test_the_table_of_frequencies_is_the_one_that_the_recipe_was_counted_with() -> None:
    """Another table gives other vectors: then the recipe's number has to go up, and this hash with it."""
    digest = hashlib.sha256(Path(wordllama.FREQUENCIES_FILE).read_bytes()).hexdigest()
    assert (digest[:16], wordllama._RECIPE) == ("3a4d9f72f572915d", 1)


def test_the_package_of_the_default_model_is_read_and_not_imported(default_model: Provider) -> None:
    import sys

    default_model.warm()
    assert "wordllama" not in sys.modules


@pytest.mark.parametrize(
    ("damage", "part"),
    [("weights", "weights"), ("tokenizer", "tokenizer"), ("missing", "weights"), ("no package", "package")],
)
def test_data_that_is_not_the_known_data_is_refused(
    damage: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
        data = bytearray(Path(wordllama.package_file(name)).read_bytes())
        if damage in name:
            data[-9] ^= 1
        target = tmp_path / "wordllama" / name
        target.parent.mkdir(parents=True)
        if damage != "missing":
            target.write_bytes(data)
    (tmp_path / "wordllama" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    if damage == "no package":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(wordllama, "_tokenizer", Lazy(wordllama._load_tokenizer))
    provider = wordllama.open_provider(Profile("wordllama", "l2_supercat_256", None, None), {})
    with pytest.raises(EmbeddingError) as caught:
        provider.warm()
    assert (caught.value.code, caught.value.details["part"]) == ("MODEL_UNAVAILABLE", part)
    assert str(tmp_path) not in str(caught.value.payload())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("| Head | `code_name` |", "head code name"),
        ("parseHTTPRequest", "parse httprequest"),
        ("don't – really…", "don t really"),
        ("नमस्ते", "नमस्ते"),
        ("価格は、100円です。", "価格は 100円です"),
        ("", ""),
    ],
)
def test_words_are_taken_out_of_text(text: str, words: str) -> None:
    assert plain_words(text) == words


def test_tokens_are_counted() -> None:
    assert count_tokens(["", "Hello world", "\ud800", "日本"]) == [0, 2, 1, 3]


# --- transformer

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "query",
    "passage",
    "red",
    "green",
    "blue",
    "fish",
    "bird",
    "tree",
)
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 12,
    "intermediate_size": 20,
    "vocab_size": len(WORDS),
    "max_position_embeddings": 10,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def _tensors(prefix: str = "") -> dict[str, NDArray[np.float32]]:
    generator = np.random.default_rng(7)
    hidden, wide = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (CONFIG["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": (CONFIG["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}"
        for name, rows, columns in (
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", wide, hidden),
            ("output.dense", hidden, wide),
        ):
            shapes[f"{base}.{name}.weight"] = (rows, columns)
            shapes[f"{base}.{name}.bias"] = (rows,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{base}.{name}.weight"] = shapes[f"{base}.{name}.bias"] = (hidden,)
    return {
        prefix + name: generator.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()
    }


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # As downloaded models have it; both must be undone.
    tokenizer.enable_padding(length=10)
    tokenizer.enable_truncation(4)
    return tokenizer


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    """A small BERT with random weights in the sentence-transformers layout."""
    directory = tmp_path / "models" / "tiny"
    (directory / "1_Pooling").mkdir(parents=True)
    for name, content in {
        "config.json": CONFIG,
        "modules.json": [
            {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
        "1_Pooling/config.json": {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 8},
    }.items():
        (directory / name).write_text(json.dumps(content), encoding="utf-8")
    _tokenizer().save(str(directory / "tokenizer.json"))
    save_file(_tensors(), str(directory / "model.safetensors"))
    return directory


@pytest.fixture
def opened(configured: Configured, repository: Path) -> Callable[[Path], Provider]:
    """The provider transformer for a directory that the user chose."""

    def build(directory: Path) -> Provider:
        config = configured(user={"embedding.provider": "transformer", "embedding.model_dir": str(directory)})
        return open_provider(resolve_profile(config, environ={}, root=repository), environ={})

    return build


def _plain_forward(tokens: list[int]) -> NDArray[np.float64]:
    """BERT for one text, number by number where that is clearer, in double precision and with the exact GELU."""
    tensors = {name: values.astype(np.float64) for name, values in _tensors().items()}

    def norm(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        mean, variance = values.mean(-1, keepdims=True), values.var(-1, keepdims=True)
        scaled: NDArray[np.float64] = (values - mean) / np.sqrt(variance + CONFIG["layer_norm_eps"])
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def linear(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return values @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    values = np.stack([
        tensors["embeddings.word_embeddings.weight"][token]
        + tensors["embeddings.position_embeddings.weight"][place]
        + tensors["embeddings.token_type_embeddings.weight"][0]
        for place, token in enumerate(tokens)
    ])
    values = norm(values, "embeddings.LayerNorm")
    width = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}"
        query, key, value = (
            linear(values, f"{base}.attention.self.{part}") for part in ("query", "key", "value")
        )
        mixed = np.zeros_like(values)
        for head in range(CONFIG["num_attention_heads"]):
            part = slice(head * width, (head + 1) * width)
            for place in range(len(tokens)):
                scores = np.array([query[place, part] @ other for other in key[:, part]]) / math.sqrt(width)
                shares = np.exp(scores - scores.max())
                mixed[place, part] = (shares / shares.sum()) @ value[:, part]
        values = norm(
            linear(mixed, f"{base}.attention.output.dense") + values, f"{base}.attention.output.LayerNorm"
        )
        wide = np.vectorize(lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))))(
            linear(values, f"{base}.intermediate.dense")
        )
        values = norm(linear(wide, f"{base}.output.dense") + values, f"{base}.output.LayerNorm")
    return values


def _cosine(left: Any, right: Any) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def test_a_transformer_gives_what_plain_arithmetic_gives(
    model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    texts = [
        "red fish",
        "",
        "blue bird green tree",
        "unknown",
        "red fish blue bird green tree red fish blue bird",
    ]
    provider = opened(model_dir)
    vectors = provider.embed(texts, "document")
    for text, vector in zip(texts, vectors, strict=True):
        words = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]
        tokens = [2, *words[:6], 3]  # at most eight, as the directory says
        assert _cosine(vector, _plain_forward(tokens).mean(axis=0)) > 0.9999


def test_pooling_by_the_first_token(model_dir: Path, opened: Callable[[Path], Provider]) -> None:
    (model_dir / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    (vector,) = opened(model_dir).embed(["red fish"], "document")
    assert _cosine(vector, _plain_forward([2, 6, 9, 3])[0]) > 0.9999


def test_prompts_of_the_model_tell_queries_and_documents_apart(
    model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    prompts = {"prompts": {"query": "query ", "document": "passage ", "other": 3}}
    (model_dir / "config_sentence_transformers.json").write_text(json.dumps(prompts), encoding="utf-8")
    provider = opened(model_dir)
    for purpose, first in (("query", 4), ("document", 5)):
        (vector,) = provider.embed(["red"], purpose)  # type: ignore[arg-type]  # a loop over the literals
        assert _cosine(vector, _plain_forward([2, first, 6, 3]).mean(axis=0)) > 0.9999


def test_tensors_may_be_named_below_bert(model_dir: Path, opened: Callable[[Path], Provider]) -> None:
    plain = opened(model_dir).embed(["red fish"], "document")
    save_file(_tensors("bert."), str(model_dir / "model.safetensors"))
    assert (opened(model_dir).embed(["red fish"], "document") == plain).all()


def test_relu_is_known(tmp_path: Path) -> None:
    save_file(_tensors(), str(tmp_path / "w.safetensors"))
    shape = BertShape.from_config(CONFIG | {"hidden_act": "relu"}, "transformer")
    model = BertModel(
        SafetensorsFile(str(tmp_path / "w.safetensors"), provider="transformer"), shape, "transformer"
    )
    assert np.isfinite(model.encode([[2, 6, 3], [2, 3]])[0]).all()


@pytest.mark.parametrize(
    "changed",
    [
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
        "sentence_bert_config.json",
    ],
)
def test_another_file_is_another_contract(
    changed: str, model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    before = opened(model_dir).contract
    assert before.dimensions == CONFIG["hidden_size"]
    if changed == "config.json":
        (model_dir / changed).write_text(json.dumps(CONFIG | {"layer_norm_eps": 1e-6}), encoding="utf-8")
    elif changed == "model.safetensors":
        save_file({name: values * 2 for name, values in _tensors().items()}, str(model_dir / changed))
    elif changed == "tokenizer.json":
        (model_dir / changed).write_text(_tokenizer().to_str(pretty=True) + "\n", encoding="utf-8")
    elif changed == "1_Pooling/config.json":
        (model_dir / changed).write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    else:
        (model_dir / changed).write_text('{"max_seq_length": 7}', encoding="utf-8")
    assert opened(model_dir).contract.identity != before.identity


def _break(directory: Path, name: str, content: bytes | None) -> None:
    path = directory / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", None),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", b"[" * 100_000),
        ("config.json", json.dumps(CONFIG | {"model_type": "roberta"}).encode()),
        ("config.json", json.dumps(CONFIG | {"hidden_size": "12"}).encode()),
        ("config.json", json.dumps(CONFIG | {"hidden_size": 10**30}).encode()),
        ("config.json", json.dumps(CONFIG | {"num_attention_heads": 5}).encode()),
        ("config.json", json.dumps(CONFIG | {"num_hidden_layers": 3}).encode()),
        ("config.json", json.dumps(CONFIG | {"num_hidden_layers": 10**6}).encode()),
        ("config.json", json.dumps(CONFIG | {"vocab_size": 4}).encode()),
        ("config.json", json.dumps(CONFIG | {"hidden_act": "swish"}).encode()),
        ("config.json", json.dumps(CONFIG | {"max_position_embeddings": 10_000}).encode()),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"\xff"),
        ("model.safetensors", None),
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 100),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0[]"),
        ("modules.json", b'[{"type": "sentence_transformers.models.Dense"}]'),
        ("modules.json", b'[{"type": "x.Pooling", "path": "../../elsewhere"}]'),
        ("modules.json", b"[1]"),
        ("1_Pooling/config.json", b'{"pooling_mode_max_tokens": true}'),
        ("1_Pooling/config.json", b'{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}'),
        ("1_Pooling/config.json", b"7"),
    ],
    ids=lambda value: value if isinstance(value, str) else ascii(value)[:40],
)
def test_a_model_that_is_damaged_or_unknown_is_refused(
    name: str, content: bytes | None, model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    _break(model_dir, name, content)
    with pytest.raises(EmbeddingError) as caught:
        opened(model_dir).embed(["red"], "document")
    assert caught.value.code == "MODEL_UNAVAILABLE"
    assert str(model_dir) not in str(caught.value.payload())


def test_weights_that_are_no_numbers_are_refused(model_dir: Path, opened: Callable[[Path], Provider]) -> None:
    tensors = _tensors()
    tensors["embeddings.word_embeddings.weight"][:] = np.nan
    save_file(tensors, str(model_dir / "model.safetensors"))
    with pytest.raises(EmbeddingError) as caught:
        opened(model_dir).embed(["red"], "document")
    assert caught.value.code == "MODEL_UNAVAILABLE"


def test_a_failed_load_is_tried_again(model_dir: Path, opened: Callable[[Path], Provider]) -> None:
    tokenizer = (model_dir / "tokenizer.json").read_bytes()
    (model_dir / "tokenizer.json").unlink()
    provider = opened(model_dir)
    with pytest.raises(EmbeddingError):
        provider.warm()
    (model_dir / "tokenizer.json").write_bytes(tokenizer)
    assert provider.embed(["red"], "document").shape == (1, 12)


@pytest.mark.parametrize(
    "overlap", [{"data_offsets": [0, 8]}, {"data_offsets": [-4, 0]}, {"data_offsets": [0, 10**9]}]
)
def test_a_tensor_that_does_not_fit_its_file_is_absent(overlap: dict[str, Any], tmp_path: Path) -> None:
    header = json.dumps({"t": {"dtype": "F32", "shape": [1], **overlap}}).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    file = SafetensorsFile(str(path), provider="transformer")
    assert "t" not in file
    with pytest.raises(EmbeddingError):
        file.tensor("t")


def test_a_repository_cannot_name_a_model_that_the_user_did_not_allow(
    configured: Configured, repository: Path, model_dir: Path
) -> None:
    named = {"embedding.provider": "transformer", "embedding.model_dir": str(model_dir)}
    with pytest.raises(EmbeddingError) as caught:
        resolve_profile(configured(named), environ={}, root=repository)
    assert caught.value.code == "MODEL_NOT_ALLOWED"
    assert str(model_dir) not in str(caught.value.payload())
    environ = {"RAGIT_TRUST_MODEL_DIRS": str(model_dir.parent)}
    config = configured(named, environ=environ)
    assert resolve_profile(config, environ=environ, root=repository).model_dir == str(model_dir)


def test_a_model_inside_the_repository_needs_the_users_allowance_too(
    configured: Configured, repository: Path
) -> None:
    (repository / "model").mkdir()
    named = {"embedding.provider": "transformer", "embedding.model_dir": "model"}
    with pytest.raises(EmbeddingError) as caught:
        resolve_profile(configured(named), environ={}, root=repository)
    assert caught.value.code == "MODEL_NOT_ALLOWED"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_does_not_lead_out_of_an_allowed_directory(
    configured: Configured, repository: Path, model_dir: Path, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    try:
        (allowed / "link").symlink_to(model_dir, target_is_directory=True)
    except OSError:
        pytest.skip("the platform lets this user make no symbolic links")
    named = {"embedding.provider": "transformer", "embedding.model_dir": str(allowed / "link")}
    config = configured(named, user={"trust.model_dirs": [str(allowed)]})
    with pytest.raises(EmbeddingError) as caught:
        resolve_profile(config, environ={}, root=repository)
    assert caught.value.code == "MODEL_NOT_ALLOWED"


def test_a_transformer_needs_a_directory(configured: Configured, repository: Path) -> None:
    with pytest.raises(RagitError) as caught:
        resolve_profile(configured({"embedding.provider": "transformer"}), environ={}, root=repository)
    assert (caught.value.code, caught.value.details["key"]) == ("CONFIG_INVALID", "embedding.model_dir")


# --- transformer by onnxruntime


def _field(number: int, value: int | bytes | str) -> bytes:
    """One field of a protocol buffer: a number, or bytes with their length."""

    def varint(value: int) -> bytes:
        parts = bytearray()
        while value > 0x7F:
            parts.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*parts, value])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def _onnx_lookup(table: NDArray[np.float32]) -> bytes:
    """An ONNX model whose last hidden state is each token's row of a table."""

    def value_info(name: str, kind: int, extents: tuple[str, ...]) -> bytes:
        shape = b"".join(_field(1, _field(2, extent)) for extent in extents)
        return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))

    node = _field(1, "table") + _field(1, "input_ids") + _field(2, "last_hidden_state") + _field(4, "Gather")
    tensor = b"".join(_field(1, extent) for extent in table.shape) + _field(2, 1)
    tensor += _field(8, "table") + _field(9, table.astype("<f4").tobytes())
    graph = _field(1, node) + _field(2, "g") + _field(5, tensor)
    graph += _field(11, value_info("input_ids", 7, ("batch", "length")))
    graph += _field(12, value_info("last_hidden_state", 1, ("batch", "length", "hidden")))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def test_an_onnx_graph_is_preferred_where_it_can_be_run(
    model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra ragit-mcp[transformer] is not installed")
    numpy_contract = opened(model_dir).contract
    table = np.arange(len(WORDS) * 12, dtype=np.float32).reshape(len(WORDS), 12)
    (model_dir / "onnx").mkdir()
    (model_dir / "onnx" / "model.onnx").write_bytes(_onnx_lookup(table))
    provider = opened(model_dir)
    vectors = provider.embed(["red fish", "blue"], "document")
    assert vectors[0] == pytest.approx(table[[2, 6, 9, 3]].mean(axis=0))
    assert vectors[1] == pytest.approx(table[[2, 8, 3]].mean(axis=0))
    assert provider.contract.identity != numpy_contract.identity


@pytest.mark.parametrize("graph", [b"", b"\xff" * 40, _onnx_lookup(np.zeros((12, 5), dtype=np.float32))])
def test_an_onnx_graph_that_does_not_fit_is_refused(
    graph: bytes, model_dir: Path, opened: Callable[[Path], Provider]
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra ragit-mcp[transformer] is not installed")
    (model_dir / "model.onnx").write_bytes(graph)
    with pytest.raises(EmbeddingError) as caught:
        opened(model_dir).embed(["red"], "document")
    assert caught.value.code == "MODEL_UNAVAILABLE"
