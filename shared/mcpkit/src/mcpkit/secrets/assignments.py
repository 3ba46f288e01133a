"""Values given to a name that says what they are: `password=`, `"apiKey": "..."`, `GITHUB_TOKEN=`, YAML blocks, XML.

A generic rule for random-looking text would hide commit ids, digests and UUIDs, so the name decides: the secret word
must be the last word of it (`client_secret`, not `secretary` or `token_count`), and the value must not be a
placeholder, source code or prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcpkit.secrets.findings import Finding
from mcpkit.secrets.placeholders import (
    is_bare_word,
    is_blank,
    is_code_expression,
    is_colour,
    is_placeholder,
    is_prose,
    is_technical_term,
    is_template,
    is_wordy,
    looks_random,
    words,
    words_of,
)
from mcpkit.secrets.scanning import WINDOW, Scanner, fold

__all__ = ["FOLDED_LITERALS", "find_assignments", "secret_name_kind", "value_visible"]

# Without one of these, in any case, a text holds no secret name; each starts a look-up.
FOLDED_LITERALS: Final = ("pass", "pwd", "secret", "token", "key", "_auth", "_pw")
_WORD_AT: Final = re.compile(r"password|passwd|passphrase|passcode|pass|pwd|pw|secret|token|key|auth")
# Words that make a key a secret one, directly before it.
_KEY_QUALIFIER: Final = re.compile(
    r"(?:api|access|secret|private|signing|signature|encryption|master|account|auth|storage|subscription|service|"
    r"consumer|deploy|license|registration|webhook|bot|crypt|cipher|aes|hmac|jwt|app|shared|cookie)[ _.-]?\Z"
)
# What may follow the secret word and still name the same thing.
_NAME_REST: Final = re.compile(
    r"(?:[_-]?(?:value|string|plain|plaintext|text|raw|base64|b64|base|prod|production|dev|test|staging|live|new|old|"
    r"current|previous|primary|secondary)|[_-]?[0-9]{1,2}){0,2}(?![A-Za-z0-9_])(?![-.][A-Za-z0-9])",
    re.IGNORECASE,
)
_IDENTIFIER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$"
# Words that may be glued to `token` or `secret` in lower case (authtoken, clientsecret).
_GLUED: Final = re.compile(
    r"(?:access|api|app|auth|bearer|bot|client|csrf|csrfmiddleware|device|github|gitlab|id|npm|oauth|push|refresh|"
    r"security|session|shared|signing|slack|sso|user|webhook|xsrf)\Z"
)
_ACCOUNT: Final = re.compile(
    r"(?:admin|db|ftp|mail|mysql|pg|postgres|redis|root|smtp|ssh|sudo|user|vpn|wifi)_\Z"
)
# A token of these kinds is vocabulary or a position in a list, not a credential.
_HARMLESS_HEADS: Final = words(
    """
    bos cancel cancellation cls continuation decoder encoder end eos forced image input invalid key line mask new next
    nextpage output pad page pagination prompt resume sep space special start stop sync syncpage text unk unknown word
    """
)
_SEPARATOR: Final = re.compile(
    r"""(?P<close>[\\]{0,3}["'`]?[*_]{0,3}[\])]{0,2})[ \t]{0,32}+(?P<sign>=>|:=|={1,3}(?!=)|:(?!:))[*_]{0,2}(?P<gap>[ \t]{0,32}+)"""
)
_NEXT_LINE: Final = re.compile(r"""[ \t]{0,32}+\r?\n[ \t]{0,64}+(?=["'])""")
# `name: DB_PASSWORD` then `value: ...`, as Kubernetes, compose files and JSON lists have it; also XML attributes.
_NAME_FIELD: Final = re.compile(
    r"""(?:name|key|id)[\\]{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}[\\]{0,3}["']?\Z""", re.IGNORECASE
)
_VALUE_FIELD: Final = re.compile(
    r"""[\\]{0,3}["']?[ \t]{0,8},?\s{1,64}+[\\]{0,3}["']?value[\\]{0,3}["']?[ \t]{0,8}(?P<sign>[:=])(?P<gap>[ \t]{0,8})""",
    re.IGNORECASE,
)
_XML_VALUE: Final = re.compile(r">(?P<value>[^<>\r\n]{1,400}+)</")
_ANNOTATION: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_.\[\]| ]{0,40}?(?:\| ?[A-Za-z]{1,20})?[ \t]{0,4}=[ \t]{0,4}(?=[\"'`bBrRfFuU])"
)
_STRING_PREFIX: Final = re.compile(
    r"""(?:[bBrRfFuU]{1,2}|\[\]byte\(|SecretStr\(|Buffer\.from\(|!!str[ ]{1,4}|@)(?=[\\]{0,3}["'`])"""
)
_QUOTE: Final = re.compile(r"""(?P<escape>[\\]{0,3})(?P<quote>["'`])""")
_INSIDE: Final = {
    '"': re.compile(r'(?:[^"\\\r\n]|\\[^\r\n])*+'),
    "'": re.compile(r"(?:[^'\\\r\n]|\\[^\r\n])*+"),
    "`": re.compile(r"[^`\r\n]*+"),
}
_INSIDE_ESCAPED: Final = {
    '"': re.compile(r'[^"\\\r\n]*+'),
    "'": re.compile(r"[^'\\\r\n]*+"),
    "`": re.compile(r"[^`\r\n]*+"),
}
_APOSTROPHE: Final = re.compile(r"(?<=\w)'(?=\w)")
_BLOCK: Final = re.compile(r"[|>][+-]?[0-9]?[+-]?[ \t]{0,32}+(?:#[^\r\n]{0,200}+)?(?:\r\n?|\n)")
_BREAK: Final = re.compile(r"\r\n?|\n")
_TOKEN_VALUE: Final = re.compile(r"""[^\s"'`<>,;&#|(){}\[\]\\]*+""")
_PASSWORD_VALUE: Final = re.compile(r"""[^\s"'`<>|\\]*+""")
_NEXT_PARAMETER: Final = re.compile(r"[,;&](?=[\w.-]{1,40}[=:])|;")
_WORDS_AFTER: Final = re.compile(r"[ \t]{1,4}[A-Za-z(][^\r\n]{0,160}+")
_PATH: Final = re.compile(r"(?:[A-Za-z]:\\|[.~]{0,2}/)[\w./~-]*+")
_OPENING: Final = frozenset("([{")
_CALLED: Final = re.compile(r"[A-Za-z_$][\w$.]*+")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_]++(?:\.[A-Za-z_]++)*+")
_CELL: Final = re.compile(r"[*_`]{0,3}[ \t]{0,64}+\|[ \t]{0,64}+[*_`]{0,3}")
_CELL_END: Final = re.compile(r"[*_`]{0,3}[ \t]{0,64}+(?:\||$)", re.MULTILINE)
_FLAG_GAP: Final = re.compile(r"[ \t]{1,4}(?=[^\s-])")


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that ends at `end` and whose secret word is of `kind`.

    `before` is what stands before it; `weak` names (`last_pass`) are often something else, so their value must look
    like a secret too.
    """

    kind: str
    start: int
    end: int
    before: str
    weak: bool = False

    @property
    def is_password(self) -> bool:
        return self.kind == "password"


def value_visible(kind: str, length: int) -> int:
    """How many characters of a value stay readable: four of a long token, none of a short one or of a password."""
    return 4 if kind != "password" and length > 8 else 0


@lru_cache(maxsize=4096)
def secret_name_kind(name: str) -> str | None:
    """The kind of secret a member name announces (`token`, `secret`, `password`, `api_key`), None for other names."""
    if not 0 < len(name) <= 128:
        return None
    scanner = Scanner(name)
    for found in _names(scanner):
        if found.end == len(name):
            return found.kind
    return None


def find_assignments(scanner: Scanner) -> Iterator[Finding]:
    """Every value whose name says that it is a secret."""
    done = 0
    for name in _names(scanner):
        if name.end < done:
            continue
        span = _value(scanner, name)
        if span is not None:
            start, end = span
            done = end
            # Of several lines nothing stays: the first one may be short.
            lines = scanner.line_end(start) < end
            yield Finding(name.kind, start, end, 0 if lines else value_visible(name.kind, end - start))


def _names(scanner: Scanner) -> Iterator[_Name]:
    """The secret names of the text, by position."""
    heads = [(scanner.find(stem, 0, folded=True), stem) for stem in FOLDED_LITERALS]
    heads = [(at, stem) for at, stem in heads if at >= 0]
    while heads:
        at, stem = min(heads)
        end = at + 1
        name = _name_at(scanner, at + 1 if stem.startswith("_") else at)
        if name is not None:
            yield name
            end = max(end, name.end)
        heads = [
            (position, other)
            for previous, other in heads
            if (position := previous if previous >= end else scanner.find(other, end, folded=True)) >= 0
        ]


def _name_at(scanner: Scanner, at: int) -> _Name | None:
    """The secret name whose secret word starts at `at`."""
    scanner.work += 16
    word = _WORD_AT.match(scanner.folded, at)
    if word is None:
        return None
    rest = scanner.match(_NAME_REST, word.end(), 48)
    if rest is None:
        return None
    before = scanner.before(at, 64)
    head = before[len(before.rstrip(_IDENTIFIER)) :]
    kind = _kind(word.group(), scanner.text[at : word.end()], head, fold(before[-32:]))
    if kind is None:
        return None
    weak = word.group() in {"pass", "pw"} and not _ACCOUNT.search(fold(head))
    return _Name(kind, at - len(head), rest.end(), before[: len(before) - len(head)], weak)


def _kind(word: str, written: str, head: str, before: str) -> str | None:
    """What the secret word at the end of a name announces, given what stands before it in the name."""
    if word == "key":
        return "api_key" if _KEY_QUALIFIER.search(before) else None
    last = head[-1:]
    parted = not last.isalnum() or (last.islower() and written[:1].isupper()) or (last.isdigit())
    if word in {"password", "passwd", "passphrase", "passcode"}:
        return "password"
    if word == "pwd":
        return "password" if parted or before.endswith(("user", "db", "sql")) else None
    if word == "auth":
        return "token" if head == "_" else None  # npm's `_auth`.
    if word in {"pass", "pw"}:
        # `pass:` alone is a verdict as often as a password; after an underscore it is a variable.
        return "password" if last == "_" else None
    if not (parted or _GLUED.search(before) or (written.isupper() and head.isupper())):
        return None
    parts = words_of(head)
    if word == "token" and parts and parts[-1] in _HARMLESS_HEADS:
        return None
    return word


def _value(scanner: Scanner, name: _Name) -> tuple[int, int] | None:
    """Where the secret value of a name lies, None if the name has none."""
    text = scanner.text
    if name.before.endswith("<") and text.startswith(">", name.end):
        element = scanner.match(_XML_VALUE, name.end)
        if element is None or is_placeholder(element["value"]) or is_prose(element["value"]):
            return None
        return element.span("value")
    separator = scanner.match(_SEPARATOR, name.end, 96)
    if separator is None:
        field = scanner.match(_VALUE_FIELD, name.end, 160) if _NAME_FIELD.search(name.before[-24:]) else None
        if field is not None:
            return _assigned(scanner, name, field.end(), field["sign"], spaced=bool(field["gap"]))
        return _flag_value(scanner, name) or _cell_value(scanner, name)
    sign, close = separator["sign"], separator["close"]
    if sign == ":" and name.before.endswith((":", "/")) and not close:
        return None  # urn:x:token:y and arn:...:secret:name are paths, not assignments.
    if sign in {"==", "===", "=>"} and _QUOTE.match(text, separator.end()) is None:
        return None  # A comparison or a function of a program.
    start = separator.end()
    if sign == ":" and any(mark in close for mark in "\"'"):
        following = scanner.match(_NEXT_LINE, start, 128)
        if following is not None:
            start = following.end()
    if sign == ":":
        block = scanner.match(_BLOCK, start, 256)
        if block is not None:
            return _block_value(scanner, name, block.end())
        annotation = scanner.match(_ANNOTATION, start, 80)
        if annotation is not None:
            start, sign = annotation.end(), "="
    if not any(mark in close for mark in "\"'`") and _closes_quotation(scanner, name, start):
        return None
    return _assigned(scanner, name, start, sign, spaced=bool(separator["gap"]))


def _closes_quotation(scanner: Scanner, name: _Name, start: int) -> bool:
    """Whether the quote at `start` ends a quotation that began before the name: `print("Password: ", end="")`."""
    mark = scanner.text[start : start + 1]
    if not mark or mark not in "\"'`":
        return False
    line = scanner.before(name.start, 160)
    line = line[max(line.rfind("\n"), line.rfind("\r")) + 1 :]
    if mark == "'":
        line = _APOSTROPHE.sub("", line)
    return line.count(mark) % 2 == 1


def _assigned(
    scanner: Scanner, name: _Name, start: int, sign: str, *, spaced: bool
) -> tuple[int, int] | None:
    prefix = scanner.match(_STRING_PREFIX, start, 24)
    if prefix is not None:
        start = prefix.end()
    quote = scanner.match(_QUOTE, start, 8)
    if quote is not None:
        return _quoted_value(scanner, name, quote)
    return _plain_value(scanner, name, start, sign, spaced=spaced)


def _echoes(name: _Name, scanner: Scanner, value: str) -> bool:
    """Whether the value only repeats the name: `token: token`, `password=password`, `apiKey: API_KEY`."""
    repeated = words_of(value[:80])
    own = words_of(scanner.text[name.start : name.end])
    return bool(repeated) and repeated == own[-len(repeated) :]


def _is_harmless(name: _Name, scanner: Scanner, value: str) -> bool:
    """Whether a value, quoted or not, is none. Long values are never harmless, which keeps the cost of a no small."""
    if not value:
        return True
    if len(value) > WINDOW:
        return False
    if is_placeholder(value) or _echoes(name, scanner, value):
        return True
    if "://" in value:
        return True  # The address rules look into it.
    if name.weak and not looks_random(value, 6):
        return True
    if name.kind == "token" and (is_colour(value) or any(mark in value for mark in "([{")):
        return True  # A colour of a theme, a pattern of a lexer.
    return _PATH.fullmatch(value) is not None and not looks_random(value.replace("/", ""), 20)


def _quoted_value(scanner: Scanner, name: _Name, quote: re.Match[str]) -> tuple[int, int] | None:
    text, mark, start = scanner.text, quote["quote"], quote.end()
    if not quote["escape"] and mark != "`" and text.startswith(mark * 2, start):
        end = _triple_end(scanner, mark, start + 2)
        start += 2
    else:
        end = scanner.run((_INSIDE_ESCAPED if quote["escape"] else _INSIDE)[mark], start)
    value = text[start : min(end, start + WINDOW + 1)]
    if _is_harmless(name, scanner, value.strip()) or (len(value) <= WINDOW and is_prose(value)):
        return None
    if len(value) <= WINDOW and (is_bare_word(value.strip()) or is_template(value)):
        return None
    if mark == "`" and is_code_expression(value[:WINDOW]):
        return None
    return start, end


def _triple_end(scanner: Scanner, mark: str, start: int) -> int:
    """Where a triple-quoted string ends: its closing quotes, or the end of the line if it has none."""
    end = scanner.find(mark * 3, start)
    return scanner.line_end(start) if end < 0 else end


def _block_value(scanner: Scanner, name: _Name, start: int) -> tuple[int, int] | None:
    """The lines of a YAML block scalar: those indented deeper than its key."""
    before = scanner.before(name.start, 160)
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    if line.strip(" \t-\"'"):
        return None  # Not the first thing on its line, so no key of a block.
    column = len(line.rstrip("\"'"))
    position, first, last = start, -1, -1
    while True:
        end = scanner.line_end(position)
        content = scanner.text[position:end]
        body = content.lstrip(" \t")
        if body:
            if len(content) - len(body) <= column:
                break
            if first < 0:
                first = end - len(body)
                if is_prose(body) or _is_harmless(name, scanner, body.strip()):
                    return None
            last = end
        following = scanner.match(_BREAK, end, 2)
        if following is None:
            break
        position = following.end()
    return (first, last) if first >= 0 else None


def _plain_value(
    scanner: Scanner, name: _Name, start: int, sign: str, *, spaced: bool
) -> tuple[int, int] | None:
    text = scanner.text
    end = scanner.run(_PASSWORD_VALUE if name.is_password else _TOKEN_VALUE, start)
    if end == start:
        return None
    if end - start > WINDOW:
        return start, end
    value = text[start:end]
    if name.is_password:
        if value[0] in "([{" or value.startswith(("${", "$(")):
            return _default_of_variable(scanner, value, start)
        cut = _NEXT_PARAMETER.search(value)
        value = value[: cut.start()] if cut else value
        value = value.rstrip(",;")
        if name.before.endswith(("?", "&")):
            value = re.split("[&#]", value, maxsplit=1)[0]
        for opening, closing in ("()", "[]", "{}"):
            while value.endswith(closing) and value.count(closing) > value.count(opening):
                value = value[:-1].rstrip(",;")
    else:
        value = value.rstrip("*") if value.endswith("**") and not value.endswith("***") else value
    end = start + len(value)
    if _is_harmless(name, scanner, value):
        return None
    if value[0] in "!?*&" and not looks_random(value, 6):
        return None  # A YAML tag, alias or anchor.
    if value.startswith("-") and name.before.endswith("{") and text.startswith("}", end):
        return (start + 1, end) if not is_placeholder(value[1:]) else None
    if not name.is_password and text[end : end + 1] in _OPENING and _CALLED.fullmatch(value):
        return None
    if is_code_expression(value):
        return None
    variable = spaced and sign in {"=", ":="} and _VARIABLE_NAME.fullmatch(value) is not None
    if variable and (not name.is_password or "_" in value):
        return None  # `token = lexeme`, `password = saved_value`, `token = Name.Builtin`: variables of a program.
    if not name.is_password and len(value) < 8 and value.lstrip("-").isdigit():
        return None  # A number of a token, not a secret one.
    if sign == ":" and not spaced and value.isalpha():
        return None
    if sign == ":" and spaced:
        return _after_colon(scanner, name, value, start, end)
    return start, end


def _default_of_variable(scanner: Scanner, value: str, start: int) -> tuple[int, int] | None:
    """`${DB_PASSWORD:-fallback}`: the fallback is a value; the variable is none."""
    for sign in (":-", ":="):
        at = value.find(sign)
        if value.startswith("${") and at > 0:
            end = value.find("}", at)
            fallback = value[at + 2 : end if end > 0 else len(value)]
            if fallback and not is_placeholder(fallback):
                return start + at + 2, start + at + 2 + len(fallback)
    return None


def _after_colon(scanner: Scanner, name: _Name, value: str, start: int, end: int) -> tuple[int, int] | None:
    """After a colon there may be a sentence: `Token: the word ...`, `password: must have 12 characters`."""
    rest = scanner.match(_WORDS_AFTER, end, 170)
    word = value.strip(".,;:!?")
    if rest is None:
        return (start, end) if not (is_wordy(value) and not name.is_password) else None
    if not word.isalpha() and not (word.isdigit() and len(word) <= 3):
        if not name.is_password and is_technical_term(word) and len(rest.group().split()) > 1:
            return None
        if name.is_password and _starts_line(scanner, name) and not is_prose(rest.group()):
            # A YAML plain scalar may hold blanks; a comment ends it.
            stop = scanner.line_end(end)
            comment = scanner.text.find(" #", end, stop)
            return start, stop if comment < 0 else comment
        return start, end
    phrase = (value + rest.group()).strip()
    parts = phrase.split()
    if (
        name.is_password
        and _starts_line(scanner, name)
        and 3 <= len(parts) <= 8
        and all(part.isalpha() and part.islower() for part in parts)
        and not is_prose(phrase)
    ):
        return start, start + len(phrase)  # A passphrase of plain words.
    return None


def _starts_line(scanner: Scanner, name: _Name) -> bool:
    before = name.before
    return not before[max(before.rfind("\n"), before.rfind("\r")) + 1 :].strip(" \t-\"'") and len(before) < 64


def _flag_value(scanner: Scanner, name: _Name) -> tuple[int, int] | None:
    """`--password value`: only a value that cannot be the name of a thing."""
    if not scanner.text.startswith("--", name.start):
        return None
    gap = scanner.match(_FLAG_GAP, name.end, 8)
    if gap is None:
        return None
    quote = scanner.match(_QUOTE, gap.end(), 8)
    if quote is not None:
        return _quoted_value(scanner, name, quote)
    end = scanner.run(_TOKEN_VALUE, gap.end())
    value = scanner.text[gap.end() : end]
    if len(value) <= WINDOW and (is_placeholder(value) or is_blank(value) or not looks_random(value, 6)):
        return None
    return gap.end(), end


def _cell_value(scanner: Scanner, name: _Name) -> tuple[int, int] | None:
    """`| token | value |`: tables describe more often than they give, so the cell must be one random-looking value."""
    gap = scanner.match(_CELL, name.end, 160)
    if gap is None:
        return None
    end = scanner.run(_TOKEN_VALUE, gap.end())
    value = scanner.text[gap.end() : min(end, gap.end() + WINDOW)].rstrip("*")
    end = min(end, gap.end() + len(value)) if len(value) < WINDOW else end
    if not looks_random(value, 10) or is_technical_term(value) or is_placeholder(value) or "://" in value:
        return None
    return (gap.end(), end) if scanner.match(_CELL_END, end, 80) is not None else None
