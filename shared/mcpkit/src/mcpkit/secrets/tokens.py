"""Tokens that are known by their own shape: a fixed prefix of an issuer, then enough characters of one class.

The shapes are public facts, taken from the issuers' documentation and secret-scanning programs. A shape is accepted
only at the start of a word, so that `risk-` and `task-` are not `sk-`, and words joined by hyphens are no token.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mcpkit.secrets.findings import Finding
from mcpkit.secrets.placeholders import is_stock_phrase, is_wordy
from mcpkit.secrets.scanning import Scanner, any_of

__all__ = ["LITERALS", "find_tokens"]

_ALNUM: Final = re.compile(r"[A-Za-z0-9]*+")
_WORD: Final = re.compile(r"[A-Za-z0-9_]*+")
_DASHED: Final = re.compile(r"[A-Za-z0-9_-]*+")
_DOTTED: Final = re.compile(r"[A-Za-z0-9_.-]*+")
_UPPER: Final = re.compile(r"[A-Z0-9]*+")
_HEX: Final = re.compile(r"[0-9a-fA-F]*+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*+={0,2}+")


@dataclass(frozen=True, slots=True)
class _Shape:
    """`prefix` at the start of a word, then at least `least` characters of `body`."""

    kind: str
    prefix: str
    body: re.Pattern[str]
    least: int
    visible: int = 6
    # Characters that may not stand directly before the prefix.
    glue: str = field(default="_-")


def _shapes() -> Iterator[_Shape]:
    for letter in "pousr":
        yield _Shape("github_token", f"gh{letter}_", _WORD, 20)
    yield _Shape("github_token", "github_pat_", _WORD, 20)
    for name in ("pat", "dt", "rt", "ptt", "ft", "imt", "agent", "soat", "cbt", "oas", "ffct"):
        yield _Shape("gitlab_token", f"gl{name}-", _DOTTED, 20)
    for name in ("AKIA", "ASIA", "ABIA", "ACCA"):
        yield _Shape("aws_access_key", name, _UPPER, 16)
    yield _Shape("aws_bedrock_key", "ABSK", _BASE64, 60)
    for letter in "abeoprs":
        yield _Shape("slack_token", f"xox{letter}-", _DASHED, 16)
    yield _Shape("slack_token", "xoxe.xox", _DOTTED, 16)
    yield _Shape("slack_token", "xapp-", _DASHED, 16)
    yield _Shape("google_api_key", "AIza", _DASHED, 30)
    yield _Shape("google_oauth_token", "ya29.", _DOTTED, 20)
    yield _Shape("google_client_secret", "GOCSPX-", _DASHED, 20)
    for name in ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"):
        yield _Shape("stripe_key", name, _ALNUM, 10)
    yield _Shape("webhook_secret", "whsec_", _BASE64, 16)
    yield _Shape("npm_token", "npm_", _ALNUM, 30)
    yield _Shape("pypi_token", "pypi-AgE", _DASHED, 20)
    for name in ("dckr_pat_", "dckr_oat_"):
        yield _Shape("docker_token", name, _DASHED, 20)
    for name in ("dop_v1_", "doo_v1_", "dor_v1_"):
        yield _Shape("digitalocean_token", name, _HEX, 40)
    for name in ("hf_", "api_org_"):
        yield _Shape("huggingface_token", name, _ALNUM, 30)
    yield _Shape("replicate_token", "r8_", _ALNUM, 30)
    yield _Shape("groq_key", "gsk_", _ALNUM, 30)
    yield _Shape("xai_key", "xai-", _ALNUM, 40)
    yield _Shape("perplexity_key", "pplx-", _ALNUM, 30)
    yield _Shape("databricks_token", "dapi", _HEX, 32)
    yield _Shape("mailgun_key", "key-", _HEX, 32)
    yield _Shape("twilio_key", "SK", _HEX, 32)
    for name in ("shpat_", "shpca_", "shppa_", "shpss_"):
        yield _Shape("shopify_token", name, _HEX, 32)
    for name in ("sq0atp-", "sq0csp-"):
        yield _Shape("square_token", name, _DASHED, 20)
    for name in ("hvs.", "hvb.", "hvr."):
        yield _Shape("vault_token", name, _DASHED, 20)
    for name in ("glsa_", "glc_"):
        yield _Shape("grafana_token", name, _BASE64, 30)
    yield _Shape("postman_key", "PMAK-", _DASHED, 40)
    yield _Shape("new_relic_key", "NRAK-", _ALNUM, 24)
    yield _Shape("figma_token", "figd_", _DASHED, 30)
    for name in ("ATATT3", "ATCTT3", "ATBB"):
        yield _Shape("atlassian_token", name, _BASE64, 28)
    yield _Shape("age_secret_key", "AGE-SECRET-KEY-1", _UPPER, 40, visible=15)
    for name in ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"):
        yield _Shape("planetscale_token", name, _DOTTED, 30)
    for name in ("sbp_", "sb_secret_"):
        yield _Shape("supabase_key", name, _DASHED, 20)
    yield _Shape("rubygems_key", "rubygems_", _HEX, 40)
    yield _Shape("linear_key", "lin_api_", _ALNUM, 30)
    yield _Shape("notion_token", "ntn_", _ALNUM, 40)
    for name in ("sntrys_", "sntryu_"):
        yield _Shape("sentry_token", name, _BASE64, 40)
    for name in ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."):
        yield _Shape("doppler_token", name, _DOTTED, 30)
    for name in ("msk_live_", "msk_test_"):
        yield _Shape("mergestorm_key", name, _DASHED, 12)


_BY_PREFIX: Final = {shape.prefix: shape for shape in _shapes()}

_OPENAI_PARTS: Final = ("sk-proj-", "sk-ant-", "sk-or-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-lf-")
_PLAIN_TWENTY: Final = re.compile(r"sk-[A-Za-z0-9]{20}")
_JWT_PART: Final = re.compile(r"[A-Za-z0-9_-]*+")
_SENDGRID: Final = re.compile(r"SG\.[A-Za-z0-9_-]{16,40}+\.[A-Za-z0-9_-]{16,80}+")
_AIRTABLE: Final = re.compile(r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,80}+")
_DISCORD: Final = re.compile(r"[A-Za-z0-9_-]{23,30}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,50}+")
# How the base64 of a number of two or more digits begins: its first digit, and that another one follows.
_DIGITS_IN_BASE64: Final = ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")
_TELEGRAM: Final = re.compile(r"[0-9]{8,10}+:AA[A-Za-z0-9_-]{32,36}+")
_MAILCHIMP_TAIL: Final = re.compile(r"-us[0-9]{1,2}\b")
_AZURE_CLIENT: Final = re.compile(r"[A-Za-z0-9]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}+")

# Without one of these, a text holds no token.
LITERALS: Final = (*_BY_PREFIX, "sk-", "eyJ", "SG.", "pat", ":AA", "Q~", "-us", *_DIGITS_IN_BASE64)
_ANY_LITERAL: Final = any_of(LITERALS)


def _starts_word(scanner: Scanner, at: int, glue: str = "_-") -> bool:
    if at == 0:
        return True
    before = scanner.text[at - 1]
    return not (before.isascii() and before.isalnum()) and before not in glue


def _is_dummy(body: str) -> bool:
    """Whether the part after the prefix was never issued: few different characters, mostly x, or words."""
    letters = body[:512]
    if len(set(letters)) <= 3 or sum(char in "xX" for char in letters) * 2 > len(letters):
        return True
    return is_wordy(letters) or is_stock_phrase(letters)


def find_tokens(scanner: Scanner) -> Iterator[Finding]:
    """Every token of a known shape, in no particular order."""
    scanner.work += scanner.size
    if _ANY_LITERAL.search(scanner.text) is None:
        return
    scanner.work += scanner.size * len(LITERALS)
    for prefix in scanner.present(_BY_PREFIX):
        shape = _BY_PREFIX[prefix]
        at = scanner.find(prefix, 0)
        while at >= 0:
            body = at + len(prefix)
            end = body
            if _starts_word(scanner, at, shape.glue):
                end = scanner.run(shape.body, body)
                value = scanner.text[body:end]
                if end - body >= shape.least and not _is_dummy(value):
                    example = shape.kind == "aws_access_key" and value.endswith("EXAMPLE")
                    yield Finding(shape.kind, at, end, shape.visible, example)
            at = scanner.find(prefix, max(end, at + 1))
    yield from _find_sk(scanner)
    yield from _find_jwt(scanner)
    yield from _find_patterned(scanner)


def _find_sk(scanner: Scanner) -> Iterator[Finding]:
    """`sk-`: OpenAI, Anthropic, OpenRouter and many after them; twenty plain characters or a known second part."""
    text = scanner.text
    at = scanner.find("sk-", 0)
    while at >= 0:
        end = at + 3
        if _starts_word(scanner, at):
            end = scanner.run(_DASHED, at)
            body = text[at + 3 : end]
            named = next((part for part in _OPENAI_PARTS if text.startswith(part, at)), "sk-")
            plain = scanner.match(_PLAIN_TWENTY, at, 23) is not None
            random = len(body) >= 20 and any(c.isdigit() for c in body) and any(c.isupper() for c in body)
            if (
                (plain or random or (len(named) > 3 and len(body) >= 20))
                and not _is_dummy(text[at + len(named) : end])
                # One long lower-case word is a key for the contract; several joined ones are a name.
                and (plain or not is_wordy(body))
            ):
                yield Finding("ai_api_key", at, end, 6)
        at = scanner.find("sk-", max(end, at + 1))


def _find_jwt(scanner: Scanner) -> Iterator[Finding]:
    """Three to five dotted base64url parts, the first of them an object (`eyJ` is `{"` encoded)."""
    at = scanner.find("eyJ", 0)
    while at >= 0:
        end = at + 3
        # Not `_starts_word`: `-` and `_` belong to the class, and everything else may precede a token.
        before = scanner.text[at - 1] if at else " "
        if not (before.isascii() and (before.isalnum() or before in "_-")):
            end = scanner.run(_JWT_PART, at)
            reach, parts = end, 1
            if end - at >= 13:
                while parts < 5 and reach < scanner.size and scanner.text[reach] == ".":
                    stop = scanner.run(_JWT_PART, reach + 1)
                    if stop - reach - 1 < (10 if parts < 3 else 0):
                        break
                    reach, parts = stop, parts + 1
            if parts >= 3:
                yield Finding("jwt", at, reach, 10)
                end = reach
        at = scanner.find("eyJ", max(end, at + 1))


def _find_patterned(scanner: Scanner) -> Iterator[Finding]:
    """Shapes whose fixed part is not at their beginning, or that have several parts of fixed length."""
    # (kind, literal to look for, how far before it the token starts at most, pattern)
    table = (
        ("sendgrid_key", "SG.", 0, _SENDGRID),
        ("airtable_token", "pat", 0, _AIRTABLE),
        ("telegram_token", ":AA", 10, _TELEGRAM),
        ("azure_client_secret", "Q~", 4, _AZURE_CLIENT),
    )
    for kind, literal, reach, pattern in table:
        at = scanner.find(literal, 0)
        while at >= 0:
            start = at
            if reach:
                head = scanner.before(at, reach)
                start = (
                    at - len(head) + len(head.rstrip("0123456789"))
                    if kind == "telegram_token"
                    else at - reach
                )
            end = at + len(literal)
            if start >= 0 and (_starts_word(scanner, start) or scanner.before(start, 3) == "bot"):
                found = scanner.match(pattern, start, 160)
                if found is not None:
                    yield Finding(kind, start, found.end(), 6)
                    end = found.end()
            at = scanner.find(literal, end)
    yield from _find_discord(scanner)
    yield from _find_mailchimp(scanner)


def _find_discord(scanner: Scanner) -> Iterator[Finding]:
    """Bot tokens: the base64 of a numeric user id, a time stamp, a signature."""
    for first in scanner.present(_DIGITS_IN_BASE64):
        at = scanner.find(first, 0)
        while at >= 0:
            end = at + 1
            if _starts_word(scanner, at, "_-.+/="):
                found = scanner.match(_DISCORD, at, 96)
                if found is not None and _encodes_digits(found.group()):
                    yield Finding("discord_token", at, found.end(), 6)
                    end = found.end()
            at = scanner.find(first, end)


def _encodes_digits(value: str) -> bool:
    """Whether the first part encodes digits only, as a Discord user id does."""
    first = value.partition(".")[0]
    try:
        return base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


def _find_mailchimp(scanner: Scanner) -> Iterator[Finding]:
    at = scanner.find("-us", 0)
    while at >= 0:
        head = scanner.before(at, 32)
        if len(head) == 32 and _HEX.fullmatch(head) and _starts_word(scanner, at - 32):
            tail = scanner.match(_MAILCHIMP_TAIL, at, 8)
            if tail is not None:
                yield Finding("mailchimp_key", at - 32, tail.end(), 4)
        at = scanner.find("-us", at + 3)
