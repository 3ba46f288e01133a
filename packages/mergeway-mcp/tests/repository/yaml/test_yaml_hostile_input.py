"""Hostile files end in `YamlError` (or in their value) within bounded time, memory and stack.

Time is bounded by the timeout of the test run: each of these took minutes or the whole memory in a naive reader.
"""

from __future__ import annotations

import random
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from mergeway_mcp.repository.yaml import YamlError, compose, load_mapping, load_plain

_BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 9))
    for name in range(ord("b"), ord("k"))
)


def _numbers(start: int) -> bytes:
    return b",".join(b"%d: 1" % n for n in range(start, start + 600))


_COLLIDING = b",".join(b"%d: 1" % (((1 << 61) - 1) * n) for n in range(20_000))

_REFUSED = {
    "alias bomb": _BOMB,
    "alias bomb in a merge": b"a: &a {b: 1}\n" + b"c: {<<: [" + b"*a, " * 200_000 + b"*a]}\n",
    "aliases nested by aliases": b"a0: &a0 [x]\n"
    + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, 400)),
    "merges nested by merges": b"a0: &a0 {k: 1}\n"
    + b"".join(b"a%d: &a%d {<<: *a%d, k%d: 1}\n" % (n, n, n - 1, n) for n in range(1, 400)),
    "deep flow lists": b"[" * 10_000,
    "deep closed flow lists": b"[" * 10_000 + b"]" * 10_000,
    "deep flow maps": b"{a: " * 10_000,
    "deep JSON": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep JSON that json can take": b"[" * 300 + b"]" * 300,
    "deep compact lists": b"- " * 10_000,
    "deep keys": b"? " * 10_000,
    "deep blocks": b"".join(b" " * depth + b"a:\n" for depth in range(2_000)),
    "deep after an anchor": b"a: &a x\nb: " + b"[" * 10_000,
    "deep compact lists after an anchor": b"a: &a x\nb:\n " + b"- " * 300,
    "typed keys that only a merge adds up": b"a: {<<: [{" + _numbers(0) + b"}, {" + _numbers(600) + b"}]}",
    "integer of many digits beside an anchor": b"a: &a x\nb: " + b"9" * 5_000,
    "tagged integer of many digits": b"a: !!int '" + b"9" * 5_000 + b"'",
    "integer of many digits": b"a: " + b"9" * 5_000,
    "integer of millions of digits": b"a: " + b"9" * 2_000_000,
    "lone surrogate": b'a: "\\ud800"',
    "alias inside of itself": b"a: &a [*a]",
    "every byte": bytes(range(256)) * 100,
    "zeros": b"\0" * 100_000,
    "huge plain key": b"x" * 1_000_000 + b": 1",
    "huge quoted key with an odd end": b'{"' + b"x" * 1_000_000 + b'": 1,}x: ',
    "many tag directives": b"".join(b"%%TAG !a%d! x\n" % n for n in range(50_000)) + b"---\na: 1",
    "keys of one hash": b"a: {" + _COLLIDING + b"}",
    "merged keys of one hash": b"a: {<<: &a {" + _COLLIDING + b"}}",
    "unfinished string of escapes": b'{"a": "' + b'\\"' * 1_000_000,
    "comments before a control character": b"# x\n" * 300_000 + b"\x01",
    "unclosed flow maps": b"{a: [" * 5_000,
}

_READ = {
    "long plain text": b"a: " + b"word " * 200_000,
    "long quoted text": b'a: "' + b"word\\n " * 200_000 + b'"',
    "long hexadecimal": b"a: 0x" + b"9" * 1_000_000,
    "long octal": b"a: 0" + b"7" * 1_000_000,
    "long fraction": b"a: 0." + b"7" * 1_000_000,
    "long float with a leading zero": b"a: 08" + b"7" * 1_000_000,
    "long exponent": b"a: 1e" + b"7" * 1_000_000,
    "many underscores": b"a: 1" + b"_" * 1_000_000,
    "many digit groups": b"a: .1" + b"_1" * 300_000,
    "long base64": b"a: !!binary " + b"AAAA" * 100_000,
    "many anchors": b"".join(b"a%d: &a%d x\n" % (n, n) for n in range(10_000)),
    "an anchor used much": b"a: &a {b: 1}\nc: [" + b"*a, " * 300 + b"*a]\n",
    "depth within bounds": b"a: " + b"[" * 199 + b"]" * 199,
    "nothing but spaces": b" " * 1_000_000,
}


@pytest.mark.parametrize("json_syntax", [False, True], ids=["yaml", "json"])
@pytest.mark.parametrize("name", _REFUSED)
def test_hostile_files_are_refused(name: str, json_syntax: bool) -> None:
    for load in (load_mapping, load_plain):
        with pytest.raises(YamlError):
            load(_REFUSED[name], json_syntax=json_syntax)


@pytest.mark.parametrize("name", _READ)
def test_big_files_are_read(name: str) -> None:
    load_mapping(_READ[name], json_syntax=False)
    load_mapping(_READ[name], json_syntax=True)
    compose(_READ[name])


@pytest.mark.parametrize(
    "name", ["alias bomb", "deep flow lists", "deep JSON", "deep blocks", "aliases nested by aliases"]
)
def test_refusing_takes_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(YamlError):
            load_plain(_REFUSED[name], json_syntax=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000 + 2 * len(_REFUSED[name])


@pytest.mark.parametrize("json_syntax", [False, True], ids=["yaml", "json"])
def test_reading_takes_little_more_memory_than_the_result(json_syntax: bool) -> None:
    data = (
        b"["
        + b",".join(b'{"name": "name %d", "size": %d, "on": "2024-01-01"}' % (n, n) for n in range(20_000))
        + b"]"
    )
    load_plain(b'[{"name": 1}]', json_syntax=json_syntax)  # one-time costs are not the reading's
    tracemalloc.start()
    try:
        value = load_plain(data, json_syntax=json_syntax)
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(value, list)
    assert len(value) == 20_000
    assert peak - size < 0.5 * size


def test_names_of_maps_are_stored_once() -> None:
    value = load_plain(b"- {name: a}\n- {name: b}\n", json_syntax=False)
    assert isinstance(value, list)
    first, second = (next(iter(item)) for item in value)
    assert first is second


@pytest.mark.parametrize("load", [load_mapping, load_plain, lambda data, json_syntax: compose(data)])
def test_random_bytes_end_in_a_value_or_a_yaml_error(load: Callable[..., object]) -> None:
    source = random.Random(20240229)
    pieces = [
        b"a",
        b": ",
        b"\n",
        b"- ",
        b"  ",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b'"',
        b"'",
        b"&a ",
        b"*a",
        b"!!int ",
        b"<<",
        b"\\u",
    ]
    pieces += [
        b"\xff",
        b"\xfe",
        b"\x00",
        b"\xc3\xa9",
        b"|\n",
        b">-\n",
        b"# ",
        b"---\n",
        b"...\n",
        b"%",
        b"9" * 50,
        b"2024-01-01",
        b"\t",
    ]
    for _ in range(3_000):
        data = b"".join(source.choices(pieces, k=source.randrange(30)))
        with suppress(YamlError):
            load(data, json_syntax=source.random() < 0.5)


def test_threads_may_read_at_the_same_time() -> None:
    data = b"a: &a [1, 2]\nb: {c: *a, d: 2024-01-01}\n"
    expected = load_plain(data, json_syntax=False)
    results: list[object] = []

    def work() -> None:
        results.extend(load_plain(data, json_syntax=False) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 200
