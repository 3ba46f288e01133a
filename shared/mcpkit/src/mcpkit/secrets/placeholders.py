"""Telling a secret from what merely stands in its place: variables, blanks, words, code, prose and masked values."""

from __future__ import annotations

import re
from typing import Final

from mcpkit.secrets.scanning import fold

__all__ = [
    "is_bare_word",
    "is_blank",
    "is_code_expression",
    "is_colour",
    "is_masked",
    "is_placeholder",
    "is_prose",
    "is_stock_phrase",
    "is_technical_term",
    "is_template",
    "is_variable",
    "is_wordy",
    "looks_random",
    "words",
    "words_of",
]


def words(text: str) -> frozenset[str]:
    """The set of the blank-separated words of a text, for lists that are easier to read than to quote."""
    return frozenset(text.split())


# A value that stands for another one: shell, template, CI, Windows, printf, Python and Ruby notations.
_VARIABLE: Final = re.compile(
    r"""
    <[^<>]*+>
  | \$\{.*+ | \$\(.*+ | \{\{?[^{}]*+\}?\}? | \#\{.*+ | %\(\w++\)s | %[A-Za-z_]\w*+% | %[sdv]
  | \$[A-Z_][A-Z0-9_]*+ | \$(?:env:)?[A-Za-z_]++ | @\w++@ | __[A-Za-z_]++__
  | \[[A-Za-z _-]++\] | !\w++ | \*[A-Za-z_]++ | :[a-z_]++ | arn:.*+ | ENC\[.*+ | ENC\(.*+ | \$\d\w?\$.*+
    """,
    re.VERBOSE | re.DOTALL,
)
_LETTER_OR_DIGIT: Final = re.compile(r"[^\W_]")
# A value of which only the beginning is shown: `sk-...`, `hf_…`.
_CUT_SHORT: Final = re.compile(r"[^.\s]{0,12}(?:\.{3,}|\u2026)")
_INTERPOLATION: Final = re.compile(r"[$#]?\{{1,3}[^{}\r\n]*+\}{1,3}")
_NAMED_THING: Final = re.compile(r"[A-Za-z]++\d{0,2}(?:[-_. ][A-Za-z]++\d{0,2})*+")
_COLOUR: Final = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})(?: (?:bold|italic|underline))?")
_NUMBERED_WORD: Final = re.compile(
    r"(?:\d{1,4}|[A-Za-z]+|[A-Z][A-Za-z]*\d{1,3}|(?:base|sha|md|utf|oauth|ed|rs|es|hs)-?\d{1,5})"
)
_MASKED: Final = re.compile(r"[^*]{0,4}\*{3}\*?")
# The prefixes that other maskers of the field (and ours) leave readable before the stars.
_MASKED_TOKEN: Final = re.compile(
    r"(?:sk-|gh[pousr]_|github|gl[a-z]{2,5}-|xox|AKIA|eyJ|AIza|npm_)[^*]{0,8}\*{3}"
)
_CAMEL: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]")
_ALPHABETIC_PARTS: Final = re.compile(r"[A-Za-z]++(?:[-_.:/ ]++[A-Za-z]++)*+[.,;:!?]?")
_CASED_WORD: Final = re.compile(r"[A-Z]?[a-z]++|[A-Z]++")
_WORD_SPLIT: Final = re.compile(r"[-_.:/ ]+")

# Words that only say "a value goes here"; a value made of nothing else is no secret.
_STOCK_WORDS: Final = words(
    """
    access account actual admin and another anthropic any api apikey app application auth authentication authorization
    aws azure bar base basic baz bearer been bot bytes change changed changeme client code credential credentials
    csrf custom database db default demo dummy empty encrypted encryption enter env environment example expired fake
    field fill foo for from generated github gitlab goes google gets hashed header here hidden https id in insert
    invalid is it jwt key keys live long masked me mock must my name new not null nil none oauth of old
    one only openai optional or our paste pass passphrase password passwd placeholder plain plaintext postgres private
    production provided public put pwd random real redacted redis refresh replace replaceme required root sample secret
    secretkey secrets secure server service session set shared shh signing slack some something staging string stripe
    super supersecret tbd top test testing text that the this to todo token tokens type unset use user username valid value
    webhook with word wrong xsrf you your yours
    """
)
# Values of a declaration rather than of a secret: types, switches and the like.
_BARE_WORDS: Final = words(
    """
    any array async auto await bool boolean buffer bytes char const date datetime def disabled double enabled enum false
    file float func function hex if import include inherit inline input int integer lambda let list map new nil no none
    not null number object off omit on optional opaque prompt read required return same-origin secret secretstr self
    static stdin str string struct text this true tuple undefined union unique unknown uuid var varchar void write yes
    """
)
_STOP_WORDS: Final = words(
    """
    a an and are as at be been before by can cannot do does for from has have if in into is it its may must no not of
    on only or over should so than that the then there these they this to used uses using via was when where which
    who will with without you your
    """
)
_CODE_ROOTS: Final = words(
    """
    app args arguments body cfg client cls config context credentials creds ctx data env environ event form github
    headers input inputs instance json local module module options opts os params parser payload process props query
    req request res response result self session settings state steps sys this user values var vars window
    """
)
_CALL_OR_INDEX: Final = re.compile(r"(?:new\s|await\s)?[A-Za-z_$][A-Za-z_.$]*+(?:\d{1,3}[A-Za-z_.]*+)?[(\[{]")
_DOTTED: Final = re.compile(r"[A-Za-z_$][\w$]*+(?:\??[.][A-Za-z_$][\w$]*+)+")
_SECRET_WORDS: Final = words("auth credential credentials key password passwd passphrase pwd secret token")


def words_of(value: str) -> list[str]:
    """The lower-cased words of an identifier or phrase; capitals, digits and punctuation part words."""
    return [fold(word) for word in _CAMEL.findall(value)]


def is_masked(value: str) -> bool:
    """Whether the value was masked before: at most four characters, or a well-known prefix, then stars."""
    return _MASKED.fullmatch(value) is not None or _MASKED_TOKEN.fullmatch(value) is not None


def is_blank(value: str) -> bool:
    """Whether nothing is given: no letter or digit at all, or a filler such as `xxxx`, `XXX-XXX` or `0000`."""
    body = {char for char in value[:512] if char.isalnum()}
    if not body:
        return _LETTER_OR_DIGIT.search(value) is None
    return len(value) >= 3 and (body <= {"x", "X"} or body == {"0"})


def is_stock_phrase(value: str) -> bool:
    """Whether the value consists of words that say a value goes here: `your-api-key`, `changeme`, `my secret`."""
    if len(value) > 80:
        return False
    parts = words_of(value)
    if parts[:1] == ["your"] and len(parts) > 1 and _NAMED_THING.fullmatch(value):
        return True  # "your-" and whatever the author calls it.
    if not parts or any(part.isdigit() for part in parts):
        parts = words_of(value.rstrip("0123456789"))
        if len(parts) < 2 and not (parts and parts[0] in {"example", "test", "changeme"}):
            return False
    if len(parts) == 1:
        word = parts[0]
        for prefix in ("your", "my", "new", "test", "the"):
            if word.startswith(prefix) and word[len(prefix) :] in _STOCK_WORDS:
                return True
    return all(part in _STOCK_WORDS or (len(parts) > 1 and part in {"a", "an"}) for part in parts)


def is_variable(value: str) -> bool:
    """Whether the value names another one: `${TOKEN}`, `<token>`, `{{ token }}`, `%TOKEN%`, `$TOKEN`."""
    return _VARIABLE.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether the value stands for a secret without being one.

    Variables (`${TOKEN}`, `<token>`, `{{ token }}`, `%TOKEN%`), blanks (`xxxx`, `...`, `****`), stock phrases
    (`your-api-key`), beginnings (`sk-...`) and values masked before.
    """
    return (
        is_masked(value)
        or is_blank(value)
        or is_variable(value)
        or is_stock_phrase(value)
        or _CUT_SHORT.fullmatch(value) is not None
    )


def is_wordy(value: str) -> bool:
    """Whether the value reads as words: several alphabetic parts, each written in one usual case."""
    if _ALPHABETIC_PARTS.fullmatch(value) is None:
        return False
    parts = [part for part in _WORD_SPLIT.split(value.rstrip(".,;:!?")) if part]
    if not all(_CASED_WORD.fullmatch(part) for part in parts):
        return False
    return len(parts) > 1 and sum(map(len, parts)) >= 3 * len(parts)


def is_prose(value: str) -> bool:
    """Whether several words in a row read as a sentence: one of them is a function word such as `the` or `of`."""
    parts = value[:512].split()
    if len(parts) < 2:
        return False
    bare = [fold(part.strip(".,;:!?()'\"`*")) for part in parts]
    return any(word in _STOP_WORDS for word in bare) or is_stock_phrase(value)


def is_code_expression(value: str) -> bool:
    """Whether an unquoted value is source code: a call, an index, an attribute, a type, a switch or a variable."""
    if fold(value) in _BARE_WORDS or _CALL_OR_INDEX.match(value):
        return True
    if _DOTTED.fullmatch(value):
        parts = re.split(r"[?.]+", value)
        last = words_of(parts[-1])
        return fold(parts[0].lstrip("$")) in _CODE_ROOTS or bool(last and last[-1] in _SECRET_WORDS)
    # A name such as accessToken or user_password: several words, one of them a word for a secret, no digit.
    return (
        value.replace("_", "").isalpha()
        and len(parts := words_of(value)) > 1
        and any(part in _SECRET_WORDS for part in parts)
    )


def is_bare_word(value: str) -> bool:
    """Whether the value is a type, a switch or another word of a declaration (`string`, `null`, `required`)."""
    return fold(value) in _BARE_WORDS


def is_template(value: str) -> bool:
    """Whether a quoted value is put together at run time: nothing but words stands beside its interpolations."""
    rest, number = _INTERPOLATION.subn(" ", value)
    return number > 0 and (is_blank(rest) or is_stock_phrase(rest) or not looks_random(rest.strip(), 6))


def is_colour(value: str) -> bool:
    """Whether the value is a colour of a theme, in which `Token` names a kind of text."""
    return _COLOUR.fullmatch(value) is not None


def is_technical_term(word: str) -> bool:
    """Whether a word with digits is one of prose: `32-byte`, `base64-encoded`, `OAuth2`, `HS256`."""
    return all(_NUMBERED_WORD.fullmatch(part) for part in re.split(r"[-_./]", word))


def looks_random(value: str, least: int) -> bool:
    """Whether the value has at least `least` characters, mixes letters with digits and does not read as words."""
    return (
        len(value) >= least
        and any(char.isdigit() for char in value)
        and any(char.isalpha() for char in value)
        and not is_wordy(value)
    )
