"""Finding and hiding secrets in a text or in a nested value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcpkit.secrets import addresses, assignments, headers, private_keys, tokens
from mcpkit.secrets.assignments import secret_name_kind, value_visible
from mcpkit.secrets.findings import MARK, Finding
from mcpkit.secrets.placeholders import is_placeholder, is_prose
from mcpkit.secrets.scanning import WINDOW, Scanner, any_of, fold

__all__ = ["MARK", "MaskedText", "MaskedValue", "find_secrets", "is_secret_name", "mask", "mask_value"]

_RULES: Final = (
    private_keys.find_private_keys,
    tokens.find_tokens,
    headers.find_in_headers,
    addresses.find_in_addresses,
    assignments.find_assignments,
)
# Most texts hold none of these and are done with at the cost of looking for them.
_LITERAL: Final = any_of((*private_keys.LITERALS, *tokens.LITERALS, *addresses.LITERALS))
_FOLDED_LITERAL: Final = any_of((
    *headers.FOLDED_LITERALS,
    *addresses.FOLDED_LITERALS,
    *assignments.FOLDED_LITERALS,
))
# Hiding may at most once uncover something (a value that ran into another secret); the third round finds nothing.
_MOST_ROUNDS: Final = 4
_MOST_DEPTH: Final = 100
_LINE: Final = re.compile(r"([^\S\r\n]*+)[^\r\n]+")


class MaskedText(NamedTuple):
    """A text without secrets, and how many were hidden."""

    text: str
    hidden: int


class MaskedValue(NamedTuple):
    """A nested value without secrets, how many were hidden, and the paths of the strings that held them."""

    value: Any
    hidden: int
    sources: list[str]


def find_secrets(text: str) -> list[Finding]:
    """The secrets of a text, by position, overlapping ones joined.

    Linear in the length of the text, whatever it holds. Placeholders, commit ids, digests and UUIDs are no secrets.

    Returns:
        Findings that do not overlap. `kind` says what each is; for joined ones it is the kind that starts
        first, except that a private key is always called one.
    """
    return _find(Scanner(text)) if _may_hold_secrets(text) else []


def _may_hold_secrets(text: str) -> bool:
    return _LITERAL.search(text) is not None or _FOLDED_LITERAL.search(fold(text)) is not None


def _find(scanner: Scanner) -> list[Finding]:
    return _joined([finding for rule in _RULES for finding in rule(scanner)])


def _joined(found: list[Finding]) -> list[Finding]:
    """The findings by position, overlapping ones made one."""
    if len(found) < 2:
        return found
    found.sort(key=lambda finding: (finding.start, -finding.end))
    joined = [found[0]]
    for finding in found[1:]:
        last = joined[-1]
        if finding.start >= last.end:
            joined.append(finding)
            continue
        # What either wants hidden is hidden: the earlier of the two hidden starts, the later of the two ends.
        hidden = min(last.hidden_from, finding.hidden_from)
        # A private key stays one, whatever name the text gives it.
        kind = "private_key" if finding.kind == "private_key" else last.kind
        joined[-1] = Finding(
            kind,
            last.start,
            max(last.end, finding.end),
            hidden - last.start,
            last.example and finding.example,
        )
    return joined


def mask(text: str) -> MaskedText:
    """Hide every secret of a text: `***`, after the first few characters where its kind allows.

    Line breaks inside a secret stay, so that line numbers hold. Masking a masked text changes nothing and counts 0.

    Returns:
        The masked text and the number of secrets hidden.
    """
    count = 0
    for _ in range(_MOST_ROUNDS):
        findings = find_secrets(text)
        if not findings:
            break
        count += len(findings)
        text = _hide(text, findings)
    return MaskedText(text, count)


def _hide(text: str, findings: list[Finding]) -> str:
    pieces: list[str] = []
    position = 0
    for finding in findings:
        pieces.append(text[position : finding.hidden_from])
        hidden = text[finding.hidden_from : finding.end]
        if "\n" in hidden or "\r" in hidden:
            pieces.append(_LINE.sub(rf"\1{MARK}", hidden))
        else:
            pieces.append(MARK)
        position = finding.end
    pieces.append(text[position:])
    return "".join(pieces)


def is_secret_name(name: str) -> bool:
    """Whether a member of this name holds a secret: `token`, `apiKey`, `client_secret`, `DB_PASSWORD`."""
    return secret_name_kind(name) is not None


def mask_value(value: Any) -> MaskedValue:
    """Hide every secret in the strings of a JSON-like value, which itself stays as it is.

    A string below a member whose name announces a secret is hidden too, unless it is a placeholder or a sentence.
    Names stay, except for tokens of a known shape inside them. Tuples become lists. What lies deeper than 100 levels,
    or contains itself, is replaced by `***` and counted: it cannot be looked through.

    Returns:
        The copy, the number of secrets hidden, and their field paths in order without repeats (`hits[1].text`;
        a bare string is `value`).
    """
    walk = _Walk()
    return MaskedValue(walk.visit(value, "", None, 0), walk.count, list(walk.sources))


class _Walk:
    """One pass over a nested value."""

    def __init__(self) -> None:
        self.count = 0
        self.sources: dict[str, None] = {}
        self._open: set[int] = set()

    def _hidden(self, path: str, count: int) -> None:
        self.count += count
        self.sources[path or "value"] = None

    def visit(self, value: Any, path: str, kind: str | None, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value, path, kind)
        if not isinstance(value, (Mapping, list, tuple)):
            return value
        if depth >= _MOST_DEPTH or id(value) in self._open:
            self._hidden(path, 1)
            return MARK
        self._open.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._members(value, path, depth)
            return [self.visit(item, f"{path}[{at}]", kind, depth + 1) for at, item in enumerate(value)]
        finally:
            self._open.discard(id(value))

    def _members(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for name, member in value.items():
            kind = None
            shown = name
            if isinstance(name, str):
                kind = secret_name_kind(name)
                shown = self._name(name, path)
                while shown != name and (shown in result or shown in value):
                    shown += "'"
            where = f"{path}.{shown}" if path else str(shown)
            result[shown] = self.visit(member, where, kind, depth + 1)
        return result

    def _name(self, name: str, path: str) -> str:
        """The name without tokens of a known shape; assignments inside a name are its author's notation."""
        if _LITERAL.search(name) is None:
            return name
        scanner = Scanner(name)
        findings = _joined([*private_keys.find_private_keys(scanner), *tokens.find_tokens(scanner)])
        if not findings:
            return name
        self._hidden(path, len(findings))
        return _hide(name, findings)

    def _text(self, value: str, path: str, kind: str | None) -> str:
        masked = mask(value)
        if kind is not None and masked.hidden == 0 and not _is_harmless_member(value):
            masked = MaskedText(value[: value_visible(kind, len(value))] + MARK, 1)
        if masked.hidden:
            self._hidden(path, masked.hidden)
        return masked.text


def _is_harmless_member(value: str) -> bool:
    """Whether the string of a member with a secret name is none: empty, a placeholder, a sentence or an address."""
    if len(value) > WINDOW:
        return False
    return not value or is_placeholder(value) or is_prose(value) or "://" in value
