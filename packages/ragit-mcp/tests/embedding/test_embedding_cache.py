"""The cache on disk: found again or missed, never wrong; written whole or not at all; read without a trace."""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcpkit.files
import ragit_mcp.embedding.cache.writing as writing
from mcpkit.files import FileAccessError
from ragit_mcp.config import Config
from ragit_mcp.embedding.cache.place import Namespace, cache_directory, cache_off_reason
from ragit_mcp.embedding.cache.reading import CacheReader, count_entries, segment_names
from ragit_mcp.embedding.cache.segments import packed
from ragit_mcp.embedding.cache.writing import CacheWriter
from ragit_mcp.embedding.contract import EmbeddingContract, text_hash
from ragit_mcp.embedding.description import describe_cache, describe_profile, has_credential
from ragit_mcp.embedding.providers import resolve_profile
from ragit_mcp.embedding.vectors import FloatArray

Configured = Callable[..., Config]
State = Callable[[], dict[str, tuple[int, int, bytes]]]
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege on Windows")


def _contract(dimensions: int = 8, model: str = "m") -> EmbeddingContract:
    return EmbeddingContract(
        "ollama", model, f"ollama-{model}-{dimensions}", dimensions, "http://127.0.0.1:11434"
    )


@pytest.fixture
def namespace(repository: Path) -> Namespace:
    """Where the vectors of a contract are."""
    contract = _contract()
    return Namespace(str(repository), f".ragit/cache/embeddings/v1/{contract.namespace_id}", contract)


@pytest.fixture
def reader(namespace: Namespace) -> Iterator[CacheReader]:
    opened = CacheReader(namespace)
    yield opened
    opened.close()


@pytest.fixture
def writer(namespace: Namespace, reader: CacheReader) -> CacheWriter:
    return CacheWriter(namespace, reader)


def _vector(text: str, dimensions: int = 8) -> FloatArray:
    """The vector that a text has in these tests."""
    seed = int(text_hash(text)[:8], 16)
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)


def _add(writer: CacheWriter, *texts: str) -> bool:
    return writer.add(texts, np.stack([_vector(text) for text in texts]))


def _has(reader: CacheReader, text: str) -> bool:
    """Whether a text is known; if it is, its vector must be the right one."""
    (found,) = reader.find([text])
    assert found is None or (found == _vector(text)).all()
    return found is not None


def test_a_namespace_has_the_recorded_name(namespace_case: dict[str, Any]) -> None:
    given, expect = namespace_case["input"], namespace_case["expect"]
    if "text" in given:
        assert text_hash(given["text"]) == expect["textHash"]
        return
    names = ("provider", "model", "version", "dimensions", "baseUrl")
    contract = EmbeddingContract(*(given[name] for name in names))
    assert contract.namespace_id == expect["namespaceId"]


def test_provider_model_version_length_and_address_tell_namespaces_apart() -> None:
    base = ("openai", "m", "v", 8, "https://a.example")
    others = [
        ("ollama", "m", "v", 8, base[4]),
        ("openai", "n", "v", 8, base[4]),
        ("openai", "m", "w", 8, base[4]),
    ]
    others += [("openai", "m", "v", 9, base[4]), ("openai", "m", "v", 8, "https://b.example")]
    contracts = [EmbeddingContract(*base), *(EmbeddingContract(*other) for other in others)]
    assert len({contract.namespace_id for contract in contracts}) == len(contracts)
    # The address is not part of what a store was made with.
    assert contracts[0].identity == contracts[-1].identity
    assert len({contract.identity for contract in contracts}) == len(contracts) - 1


def test_what_was_added_is_found_and_nothing_else(writer: CacheWriter, reader: CacheReader) -> None:
    assert not _has(reader, "a")
    assert _add(writer, "a", "b")
    assert [_has(reader, text) for text in ("a", "b", "c", "A", "a ")] == [True, True, False, False, False]


def test_line_ends_do_not_matter(writer: CacheWriter, reader: CacheReader) -> None:
    vector = _vector("x")
    writer.add(["one\r\ntwo"], vector[None])
    (found,) = reader.find(["one\ntwo"])
    assert found is not None
    assert (found == vector).all()
    assert reader.find(["one\rtwo"]) == [None]


def test_many_keys_are_told_apart_whatever_their_bytes(namespace: Namespace, repository: Path) -> None:
    generator = random.Random(3)
    # Bytes of zero at the end are what numpy's strings lose.
    keys = {generator.randbytes(17) + b"\0\0\0" for _ in range(50)} | {
        generator.randbytes(20) for _ in range(500)
    }
    keys |= {b"\0" * 20, b"\xff" * 20, b"\0" * 19 + b"\x01"}
    directory = repository / namespace.directory
    directory.mkdir(parents=True)
    entries = {key: np.full(8, place, dtype=np.float32) for place, key in enumerate(keys)}
    (directory / f"{1:012x}-{0:016x}.seg").write_bytes(packed(namespace, entries))
    reader = CacheReader(namespace)
    reader.find([])
    (segment,) = reader._open.values()
    for key, vector in entries.items():
        found = segment.find(key)
        assert found is not None
        assert (found == vector).all()
    assert segment.find(b"\x01" + b"\0" * 19) is None
    reader.close()


def test_a_reader_sees_what_is_added_later(writer: CacheWriter, namespace: Namespace) -> None:
    _add(writer, "a")
    reader = CacheReader(namespace)
    assert _has(reader, "a")
    _add(writer, "b")
    assert _has(reader, "b")
    reader.close()


def test_reading_leaves_no_trace(writer: CacheWriter, namespace: Namespace, state_of: State) -> None:
    _add(writer, "a")
    before = state_of()
    reader = CacheReader(namespace)
    reader.find(["a", "b"])
    assert count_entries(namespace) == 1
    assert state_of() == before
    reader.close()


def test_reading_where_there_is_no_cache_creates_nothing(reader: CacheReader, state_of: State) -> None:
    before = state_of()
    assert reader.find(["a"]) == [None]
    assert state_of() == before


def test_a_changed_byte_is_a_miss_or_does_no_harm(
    writer: CacheWriter, namespace: Namespace, repository: Path
) -> None:
    _add(writer, "a", "b", "c")
    (name,) = segment_names(namespace)
    path = repository / namespace.directory / name
    sound = path.read_bytes()
    for place in range(len(sound)):
        damaged = bytearray(sound)
        damaged[place] ^= 0x41
        path.write_bytes(damaged)
        reader = CacheReader(namespace)
        for text in ("a", "b", "c"):
            _has(reader, text)  # asserts that what is found is right
        reader.close()


def test_a_segment_of_the_wrong_size_counts_as_absent(
    writer: CacheWriter, namespace: Namespace, repository: Path
) -> None:
    _add(writer, "a", "b")
    (name,) = segment_names(namespace)
    path = repository / namespace.directory / name
    sound = path.read_bytes()
    for data in (b"", sound[:10], sound[:64], sound[:-1], sound + b"\0", b"\xff" * 200):
        path.write_bytes(data)
        reader = CacheReader(namespace)
        assert not _has(reader, "a")
        assert count_entries(namespace) == 0
        reader.close()


def test_a_segment_of_another_namespace_counts_as_absent(namespace: Namespace, repository: Path) -> None:
    directory = repository / namespace.directory
    directory.mkdir(parents=True)
    for other in (_contract(model="n"), _contract(dimensions=7)):
        foreign = Namespace(namespace.root, namespace.directory, other)
        entries = {bytes.fromhex(text_hash("a")): _vector("a", other.dimensions)}
        (directory / f"{1:012x}-{0:016x}.seg").write_bytes(packed(foreign, entries))
        reader = CacheReader(namespace)
        assert reader.find(["a"]) == [None]
        reader.close()


def test_vectors_that_are_no_numbers_are_a_miss(writer: CacheWriter, reader: CacheReader) -> None:
    writer.add(["a"], np.full((1, 8), np.nan, dtype=np.float32))
    assert reader.find(["a"]) == [None]


def test_segments_stay_few_and_nothing_is_lost(
    writer: CacheWriter, reader: CacheReader, namespace: Namespace
) -> None:
    texts = [f"text {number}" for number in range(200)]
    most = 0
    for text in texts:
        _add(writer, text)
        most = max(most, len(segment_names(namespace)))
    assert most <= writing.FEW_SEGMENTS
    assert all(_has(reader, text) for text in texts)
    assert count_entries(namespace) == len(texts)


def test_a_cache_that_is_full_lets_go_of_the_oldest(
    writer: CacheWriter, reader: CacheReader, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_ENTRIES", 40)
    for number in range(0, 100, 10):
        _add(writer, *(f"text {number + offset}" for offset in range(10)))
    assert count_entries(namespace) <= 40
    assert [_has(reader, f"text {number}") for number in (0, 50, 60, 99)] == [False, False, True, True]


def test_merging_makes_no_segment_larger_than_allowed(
    writer: CacheWriter, namespace: Namespace, reader: CacheReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_SEGMENT_ENTRIES", 6)
    texts = [f"text {number}" for number in range(60)]
    for text in texts:
        _add(writer, text)
    reader.find(texts)
    assert max(len(segment) for segment in reader._open.values()) <= 6
    assert all(_has(reader, text) for text in texts)


def test_writers_at_the_same_time_lose_nothing(namespace: Namespace) -> None:
    texts = {number: [f"{number}-{count}" for count in range(40)] for number in range(4)}
    readers = [CacheReader(namespace) for _ in texts]
    threads = [
        threading.Thread(
            target=lambda number=number: [
                _add(CacheWriter(namespace, readers[number]), text) for text in texts[number]
            ]
        )
        for number in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = CacheReader(namespace)
    assert all(_has(reader, text) for part in texts.values() for text in part)
    for opened in (*readers, reader):
        opened.close()


def test_what_a_killed_process_left_aside_goes_in_time(
    namespace: Namespace, reader: CacheReader, repository: Path
) -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    writer = CacheWriter(namespace, reader, now=lambda: later)
    _add(writer, "a")
    aside = repository / namespace.directory / f".{1:012x}-{2:016x}.seg.{3:016x}.tmp"
    other = repository / namespace.directory / "notes.tmp"
    for path in (aside, other):
        path.write_bytes(b"half")
    for number in range(writing.FEW_SEGMENTS + 1):
        _add(writer, str(number))
    assert (aside.exists(), other.exists()) == (False, True)


FAULTS = (pytest.param("open", marks=pytest.mark.slow), "write", "fsync", "replace", "mkdir", "unlink")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_any_point_leaves_the_cache_whole(
    name: str, namespace: Namespace, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th call fails, for n = 1, 2, ... until adding a text that causes a merge succeeds."""
    real = getattr(os, name)
    for failing in range(1, 200):
        cache = CacheReader(namespace)
        writer = CacheWriter(namespace, cache)
        old = [f"{failing}: old {number}" for number in range(writing.FEW_SEGMENTS)]
        for text in old:
            assert _add(writer, text)
        calls = 0

        def fails(*args: Any, failing: int = failing, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(28, "no space left on device")
            return real(*args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(os, name, fails)
            kept = _add(writer, f"{failing}: new")
        fresh = CacheReader(namespace)
        assert all(_has(fresh, text) for text in old)
        assert _has(fresh, f"{failing}: new") or not kept
        fresh.close()
        cache.close()
        assert not list((repository / namespace.directory).glob("*.tmp")) or name in {"unlink", "open"}
        if calls < failing:
            break
    else:
        pytest.fail("never got through")


def test_a_failure_to_keep_is_told_to_the_log_without_a_path(
    writer: CacheWriter, repository: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise FileAccessError("write_failed")

    monkeypatch.setattr(writing, "atomic_write_below", full)
    with caplog.at_level(logging.WARNING):
        assert not _add(writer, "a private text")
    assert "write_failed" in caplog.text
    assert str(repository) not in caplog.text
    assert "private" not in caplog.text


@needs_links
@pytest.mark.parametrize(
    "linked", [".ragit", ".ragit/cache", ".ragit/cache/embeddings", ".ragit/cache/embeddings/v1"]
)
def test_nothing_is_written_or_read_through_a_link(
    linked: str, repository: Path, tmp_path: Path, namespace: Namespace, writer: CacheWriter
) -> None:
    elsewhere = tmp_path / "elsewhere"
    rest = Path(namespace.directory).relative_to(linked)
    outside = Namespace(str(tmp_path), f"elsewhere/{rest.as_posix()}", namespace.contract)
    outside_reader = CacheReader(outside)
    elsewhere.mkdir()
    assert _add(CacheWriter(outside, outside_reader), "planted")
    before = sorted(map(str, elsewhere.rglob("*")))
    place = repository / linked
    if linked == ".ragit":
        place.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere, target_is_directory=True)
    assert not _add(writer, "a")
    assert CacheReader(namespace).find(["planted"]) == [None]
    assert sorted(map(str, elsewhere.rglob("*"))) == before
    outside_reader.close()


@pytest.mark.parametrize(
    ("directory", "place"),
    [
        (".ragit/cache/embeddings", ".ragit/cache/embeddings"),
        ("./.ragit//cache/", ".ragit/cache"),
        (".ragit\\cache", ".ragit/cache"),
        (".ragit", None),
        ("docs/cache", None),
        (".git/hooks", None),
        (".ragit/../.git", None),
        ("../.ragit/cache", None),
        ("/tmp/.ragit/cache", None),
        ("C:/.ragit/cache", None),
        (".ragit/a:b", None),
        (".ragit/" + "a/" * 40, None),
        ("~/.ragit/cache", None),
    ],
)
def test_the_cache_lies_below_ragits_own_directory_or_nowhere(
    directory: str, place: str | None, configured: Configured
) -> None:
    config = configured({"embedding.cache_dir": directory, "embedding.provider": "ollama"})
    assert cache_directory(config) == place
    profile = resolve_profile(config, environ={})
    assert cache_off_reason(config, profile) == (None if place else "outside")


def test_status_describes_the_cache_and_changes_nothing(
    configured: Configured, repository: Path, state_of: State
) -> None:
    config = configured({"embedding.provider": "ollama"})
    profile = resolve_profile(config, environ={})
    assert profile.contract is not None
    before = state_of()
    described = describe_cache(config, repository, profile)
    assert state_of() == before
    assert described == {
        "enabled": True,
        "reason": None,
        "dir": ".ragit/cache/embeddings",
        "namespaceId": "e696aa81d61b0ccb",
        "entryCount": 0,
        "batchPolicy": {"maxItems": 32, "maxBytes": 262144},
        "retryPolicy": {"delaysMs": [150, 300, 600, 1200, 2400]},
        "writable": True,
        "namespaceReadable": False,
    }
    place = Namespace(str(repository), ".ragit/cache/embeddings/v1/e696aa81d61b0ccb", profile.contract)
    reader = CacheReader(place)
    CacheWriter(place, reader).add(["a"], np.zeros((1, 768), dtype=np.float32))
    reader.close()
    described = describe_cache(config, repository, profile)
    assert (described["entryCount"], described["namespaceReadable"]) == (1, True)


def test_status_describes_a_provider_that_needs_no_cache(configured: Configured, repository: Path) -> None:
    config = configured()
    profile = resolve_profile(config, environ={})
    described = describe_cache(config, repository, profile)
    assert (described["enabled"], described["reason"], described["batchPolicy"]) == (
        False,
        "not_needed",
        None,
    )
    assert describe_profile(profile)["dimensions"] == 256
    assert has_credential(profile, {})


def test_a_key_is_looked_for_only_where_one_is_needed(configured: Configured) -> None:
    profile = resolve_profile(configured({"embedding.provider": "openai"}), environ={})
    assert not has_credential(profile, {})
    assert has_credential(profile, {"OPENAI_API_KEY": "sk-x"})


def test_the_files_are_for_their_owner_only(
    writer: CacheWriter, repository: Path, namespace: Namespace
) -> None:
    if sys.platform == "win32":
        pytest.skip("modes are the system's there")
    _add(writer, "a")
    for path in (repository / namespace.directory).iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert mcpkit.files.read_regular(repository / namespace.directory / "namespace.json", max_bytes=4096)
