"""Contract a9: what unquoted, quoted and tagged scalars mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import YamlError, load_mapping, load_plain

Reader = Callable[[str], Any]
Typed = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("text", "value"),
    [(word, True) for word in ("true", "True", "TRUE")]
    + [(word, False) for word in ("false", "False", "FALSE")]
    + [(word, None) for word in ("~", "null", "Null", "NULL", "")]
    + [(word, float("inf")) for word in (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")]
    + [(word, float("-inf")) for word in ("-.inf", "-.Inf", "-.INF")]
    + [(word, float("nan")) for word in (".nan", ".NaN", ".NAN")],
)
def test_the_words_of_the_dialect_are_values(
    text: str, value: object, read_scalar: Reader, as_typed: Typed
) -> None:
    assert read_scalar(text) == as_typed(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "Yes",
            "tRue",
            "nUll",
            "=",
            "nan",
            "inf",
            ".iNF",
            "+.nan",
            "...",
        ),
        *(
            "12:30:45",
            "190:20",
            "0x1p4",
            "1e",
            "e1",
            "0o8",
            "0b2",
            "0x",
            "+",
            ".",
            "-.",
            "1.2.3",
            "_1",
            "._5",
        ),
        *(
            ".5_",
            ".5__0",
            "1e400",
            "-1e400",
            "0x1ffffffffffffffff",
            "-0x8000000000000001",
            "+0xffffffffffffffff",
        ),
        *("٣", "1٣", "1 2", "5,000", "a:b", "a#b", "<", "<<<", "61e9540x"),
    ],
)
def test_everything_else_is_text(text: str, read_scalar: Reader) -> None:
    assert read_scalar(text) == ("str", text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(
            ("0", 0),
            ("-0", 0),
            ("00", 0),
            ("+12", 12),
            ("-15", -15),
            ("1_000", 1000),
            ("1__0", 10),
            ("1_", 1),
            ("0_", 0),
            ("-_0", 0),
        ),
        *(("017", 15), ("-017", -15), ("0o17", 15), ("0O17", 15), ("0b101", 5), ("0B11", 3), ("-0b11", -3)),
        *(
            ("0x1F", 31),
            ("0X1f", 31),
            ("-0x1f", -31),
            ("+0x1F", 31),
            ("0x_1F", 31),
            ("0b-1", -1),
            ("0o+7", 7),
        ),
        *(("9223372036854775808", 1 << 63), ("18446744073709551615", (1 << 64) - 1)),
        *(("0xffffffffffffffff", (1 << 64) - 1), ("-0x8000000000000000", -(1 << 63))),
        ("01777777777777777777777", (1 << 64) - 1),
    ],
)
def test_integers_have_four_bases_a_sign_and_underscores(text: str, number: int, read_scalar: Reader) -> None:
    assert read_scalar(text) == ("int", number)


@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_decimal_integers_stay_exact_up_to_the_digit_limit(sign: str, read_scalar: Reader) -> None:
    digits = "9" * 4300
    assert read_scalar(sign + digits) == ("int", int(sign + digits))
    assert read_scalar(sign + "_".join(digits)) == ("int", int(sign + digits))


@pytest.mark.parametrize("text", ["9" * 4301, "-" + "9" * 4301, "1_" + "9" * 4300, "[" + "9" * 4301 + "]"])
def test_integers_beyond_the_digit_limit_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        load_plain(f"b: 1\na: {text}".encode(), json_syntax=False)
    assert caught.value.line == 2
    assert "9999" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(
            ("1.0", 1.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("+.5", 0.5),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("1.e2", 100.0),
        ),
        *(
            ("-1.5E-7", -1.5e-7),
            ("1_0.5", 10.5),
            (".5_0", 0.5),
            ("1e-400", 0.0),
            ("-0.0", -0.0),
            ("3.0e+2", 300.0),
        ),
        *(
            ("08", 8.0),
            ("09.5", 9.5),
            ("-08", -8.0),
            ("61e9", 61e9),
            ("1.7976931348623157e308", 1.7976931348623157e308),
        ),
        ("02000000000000000000000", 2e21),
    ],
)
def test_floats_are_decimal_with_optional_point_and_exponent(
    text: str, number: float, read_scalar: Reader, as_typed: Typed
) -> None:
    assert read_scalar(text) == as_typed(number)


@pytest.mark.parametrize("text", ["5", "true", "~", "2024-02-29", "1e3", ".inf", "<<", "0x10"])
@pytest.mark.parametrize(
    "form", ["'{}'", '"{}"', "|-\n  {}", ">-\n  {}", "!!str {}", "!custom {}", "!!other {}"]
)
def test_quoted_block_and_foreign_tagged_scalars_are_text(text: str, form: str, read_scalar: Reader) -> None:
    assert read_scalar(form.format(text)) == ("str", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            ("!!int '12'", 12),
            ("!!int 0x10", 16),
            ("!!float 1", 1.0),
            ("!!float '1'", 1.0),
            ("!!float .inf", float("inf")),
        ),
        *(("!!bool 'true'", True), ("!!null ''", None), ("!!null ~", None), ("! 5", 5), ("! '5'", "5")),
        *(("!!binary aGVsbG8=", "hello"), ("!!binary //79", "\ufffd\ufffd\ufffd"), ("!!binary ''", "")),
        *(("!!set {p, q}", {"p": None, "q": None}), ("!!omap [a: 1, b: 2]", [{"a": 1}, {"b": 2}])),
        ("!<tag:yaml.org,2002:int> '7'", 7),
    ],
)
def test_standard_tags_decide(text: str, value: object, read_scalar: Reader, as_typed: Typed) -> None:
    assert read_scalar(text) == as_typed(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "!!bool 'yes'",
            "!!bool 1",
            "!!int 1.5",
            "!!int 1.0",
            "!!int x",
            "!!float x",
            "!!float 1e400",
            "!!null x",
        ),
        *(
            "!!timestamp x",
            "!!timestamp 5",
            "!!timestamp 2024-13-01",
            "!!binary '*'",
            "!!binary aGVsbG8",
            "!!binary é",
        ),
        "!!float " + "9" * 400,
    ],
)
def test_a_tag_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(YamlError):
        load_mapping(f"a: {text}".encode(), json_syntax=False)
