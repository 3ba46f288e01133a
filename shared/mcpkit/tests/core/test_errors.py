"""Errors carry a kind, a message for people, and nothing that must not leave."""

from __future__ import annotations

import pytest

from mcpkit.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    InvalidArguments,
    KitError,
    RequestFailure,
    ToolFailure,
)


@pytest.mark.parametrize("cls", [KitError, ToolFailure, RequestFailure])
def test_the_payload_is_the_kind_and_the_data_but_never_the_detail(cls: type[KitError]) -> None:
    error = cls("do this", kind="some_case", data={"where": "here"}, detail="/secret/path")
    assert error.payload() == {"kind": "some_case", "where": "here"}
    assert (error.message, error.detail, str(error)) == ("do this", "/secret/path", "do this")


def test_data_is_copied_and_may_be_absent() -> None:
    data = {"a": 1}
    error = ToolFailure("x", kind="y", data=data)
    data["a"] = 2
    assert error.payload() == {"kind": "y", "a": 1}
    assert ToolFailure("x", kind="y").payload() == {"kind": "y"}


def test_a_request_failure_blames_the_params_unless_told_otherwise() -> None:
    assert RequestFailure("x", kind="y").code == INVALID_PARAMS
    assert RequestFailure("x", kind="y", code=INTERNAL_ERROR).code == INTERNAL_ERROR


@pytest.mark.parametrize(("field", "named"), [("entity", "'entity'"), ("", "arguments")])
def test_invalid_arguments_name_the_field_and_the_reason(field: str, named: str) -> None:
    error = InvalidArguments(field, "must be a string")
    assert error.payload() == {"kind": "invalid_arguments", "field": field, "reason": "must be a string"}
    assert named in error.message
    assert isinstance(error, ToolFailure)
