from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpkit import errors, messages
from mcpkit.messages import (
    Batch,
    Fault,
    Notification,
    Request,
    Response,
    TooLong,
    Unserialisable,
    encode,
    fault_answer,
    parse,
)


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def with_params(params: bytes, id_: bytes = b"7") -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"method":"m","params":' + params + b"}"


# Rule: JSON-RPC 2.0, sections 4 to 6, with MCP's narrower params and ids.
FAULTS = [
    (b"hello", "parse_error", None),
    (b'{"jsonrpc":"2.0","id":1,"met', "parse_error", None),
    (with_params(b"{}") + b" trailing", "parse_error", None),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', "parse_error", None),
    (with_params(b'{"x":NaN}'), "parse_error", None),
    (with_params(b'{"x":-Infinity}'), "parse_error", None),
    (with_params(b'{"x":1e999}'), "parse_error", None),
    (with_params(b"{}", b"9" * 5000), "parse_error", None),
    (with_params(b"{\"x\":'a'}"), "parse_error", None),
    (b"\x00", "parse_error", None),
    (b"5", "invalid_request", None),
    (b'"text"', "invalid_request", None),
    (b"null", "invalid_request", None),
    (b"{}", "invalid_request", None),
    (b'{"jsonrpc":"1.0","id":7,"method":"m"}', "invalid_request", 7),
    (b'{"id":"seven","method":"m"}', "invalid_request", "seven"),
    (b'{"jsonrpc":"2.0","id":7}', "invalid_request", 7),
    (b'{"jsonrpc":"2.0","id":7,"method":1}', "invalid_request", 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', "invalid_request", 7),
    (b'{"jsonrpc":"2.0","id":null,"method":"m"}', "invalid_request", None),
    (with_params(b"{}", b"true"), "invalid_request", None),
    (with_params(b"{}", b"1.5"), "invalid_request", None),
    (with_params(b"{}", b"1.0"), "invalid_request", None),
    (with_params(b"{}", b"[1]"), "invalid_request", None),
    (with_params(b"{}", b'"\\ud800"'), "invalid_request", None),
    (with_params(b"[]"), "invalid_params", 7),
    (with_params(b'"x"'), "invalid_params", 7),
    (with_params(b"0"), "invalid_params", 7),
    (with_params(b'{"x":"\\ud800"}'), "invalid_params", 7),
    (with_params(b'{"\\udfff":1}'), "invalid_params", 7),
    (with_params(b'{"x":' + deep(2000) + b"}"), "too_deep", 7),
    (with_params(b'{"x":' + deep(2000) + b"}", b'"a\\nb"'), "too_deep", "a\nb"),
    (with_params(b'{"x":' + deep(100_000) + b"}"), "too_deep", 7),
    (with_params(b'{"x":' + deep(199) + b"}"), "too_deep", 7),
    (deep(2000), "too_deep", None),
    (b"[]", "empty_batch", None),
    (b"[" + b",".join([b"1"] * 1001) + b"]", "batch_too_large", None),
]


@pytest.mark.parametrize(
    ("line", "kind", "id_"), FAULTS, ids=[f"{n}-{row[1]}" for n, row in enumerate(FAULTS)]
)
def test_a_faulty_line_is_a_fault_with_the_id_that_could_be_read(line: bytes, kind: str, id_: Any) -> None:
    fault = parse(line)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.id) == (kind, id_)
    answer = json.loads(fault_answer(fault))
    assert answer["id"] == id_
    assert answer["error"]["data"] == {"kind": kind}


CODES = {
    "parse_error": errors.PARSE_ERROR,
    "invalid_params": errors.INVALID_PARAMS,
    "method_not_found": errors.METHOD_NOT_FOUND,
    "internal_error": errors.INTERNAL_ERROR,
    "overloaded": errors.INTERNAL_ERROR,
    "shutting_down": errors.INTERNAL_ERROR,
    "startup_failed": errors.INTERNAL_ERROR,
    "unserialisable": errors.INTERNAL_ERROR,
}


@pytest.mark.parametrize("kind", sorted(messages._FAULTS))
def test_every_kind_of_fault_has_its_json_rpc_code(kind: str) -> None:
    assert json.loads(fault_answer(Fault(kind)))["error"]["code"] == CODES.get(kind, errors.INVALID_REQUEST)


@pytest.mark.parametrize("line", [b"", b" ", b"\r", b" \t\r"])
def test_a_blank_line_is_nothing(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.parametrize("around", [(b"", b"\r"), (b"  ", b" \t "), (b"\xef\xbb\xbf", b"")])
def test_white_space_and_a_byte_order_mark_around_a_message_are_harmless(around: tuple[bytes, bytes]) -> None:
    assert isinstance(parse(around[0] + with_params(b"{}") + around[1]), Request)


def test_the_last_of_equal_keys_counts() -> None:
    request = parse(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","params":{"x":1,"x":2}}')
    assert isinstance(request, Request)
    assert (request.id, request.method, request.params) == (2, "b", {"x": 2})


def test_nesting_up_to_the_limit_wide_messages_and_paired_surrogates_pass() -> None:
    for params in (
        b'{"x":' + deep(198) + b"}",
        b'{"x":[' + b",".join([b"[{}]"] * 1000) + b"]}",
        b'{"x":"\\ud83d\\ude00","y":"\\\\ud800","z":"[[[["}',
    ):
        assert isinstance(parse(with_params(params)), Request)


def test_null_params_count_as_absent_which_is_what_the_sdk_does() -> None:
    request = parse(with_params(b"null"))
    assert isinstance(request, Request)
    assert request.params is None


@pytest.mark.parametrize("id_", [0, -1, 2**53 + 1, 10**60, "", "7", "né"])
def test_ids_are_echoed_exactly(id_: int | str) -> None:
    request = parse(with_params(b"{}", encode(id_)))
    assert isinstance(request, Request)
    answer = json.loads(messages.result_answer(request.id, b"{}"))
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)


@pytest.mark.parametrize("params", [b"[]", b'{"x":"\\ud800"}'])
def test_a_notification_with_unusable_params_is_a_notification_to_ignore(params: bytes) -> None:
    notification = parse(b'{"jsonrpc":"2.0","method":"m","params":' + params + b"}")
    assert isinstance(notification, Notification)
    assert not notification.method


def test_a_response_is_recognised_by_its_result_or_error() -> None:
    for member in (b'"result":{}', b'"error":5'):
        response = parse(b'{"jsonrpc":"2.0","id":1,' + member + b"}")
        assert isinstance(response, Response)
        assert response.id == 1


def test_a_batch_holds_what_each_of_its_members_would_be_alone() -> None:
    batch = parse(b"[1," + with_params(b"{}") + b"," + with_params(b"[]") + b"]")
    assert isinstance(batch, Batch)
    assert [type(item) for item in batch.messages] == [Fault, Request, Fault]


@pytest.mark.parametrize(
    ("head", "id_"),
    [
        (b'{"jsonrpc":"2.0","id":12,"method":"m","params":{"x":"aaaa', 12),
        (b' { "method" : "m" , "id" : "a\\"b" , "params":{"x":"aaaa', 'a"b'),
        (b'{"params":{"id":1,"x":["id"]},"id":2,"y":"', 2),
        (b'{"jsonrpc":"2.0","id":12', None),  # may be cut
        (b'{"jsonrpc":"2.0","id":true,"x":"', None),
        (b'{"params":{"id":1},"x":"aaaa', None),
        (b'{"x":"id","y":"aaaa', None),
        (b'[{"id":1,"x":"', None),
        (b'{}{"id":1,"x":', None),
        (b'{"x":"' + b'\\"' * 20_000, None),
        (b"", None),
    ],
)
def test_a_message_that_is_too_long_is_answered_by_its_id_if_its_beginning_has_it(
    head: bytes, id_: int | str | None
) -> None:
    fault = parse(TooLong(head))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.id) == ("message_too_large", id_)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, "\ud800", {1, 2}, object(), 10**5000],
    ids=["nan", "inf", "lone surrogate", "set", "object", "5,000 digits"],
)
def test_what_json_cannot_carry_is_unserialisable(value: object) -> None:
    with pytest.raises(Unserialisable):
        encode({"x": [value]})


def test_a_circular_or_bottomless_value_is_unserialisable() -> None:
    circular: list[Any] = []
    circular.append(circular)
    bottomless: list[Any] = []
    for _ in range(200_000):
        bottomless = [bottomless]
    for value in (circular, bottomless):
        with pytest.raises(Unserialisable):
            encode(value)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_an_encoded_value_is_one_line_of_utf_8_and_reads_back_the_same(value: Any) -> None:
    try:
        line = encode(value)
    except Unserialisable:
        return  # a surrogate among the keys
    assert b"\n" not in line
    assert json.loads(line.decode("utf-8")) == value


@given(st.binary(max_size=60))
def test_no_bytes_upset_the_parser(line: bytes) -> None:
    parse(line.replace(b"\n", b""))
    parse(TooLong(line))
    parse(TooLong(b'{"id":' + line))
