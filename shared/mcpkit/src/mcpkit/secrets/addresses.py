"""Secrets inside addresses: passwords of connection strings, webhook URLs, signatures, `curl -u name:password`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpkit.secrets.findings import Finding
from mcpkit.secrets.placeholders import is_blank, is_masked, is_placeholder, is_stock_phrase, is_variable
from mcpkit.secrets.scanning import Scanner

__all__ = ["FOLDED_LITERALS", "LITERALS", "find_in_addresses"]

_AUTHORITY: Final = re.compile(r"""[^\s/?#"'<>`\\]*+""")
_PATH: Final = re.compile(r"[A-Za-z0-9/_.@%=-]*+")
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9%+/=_-]*+")
_CURL_USER: Final = re.compile(
    r"""(?:-u|--user)[ =]{0,3}["']?[^\s:"'$<{]{1,64}:(?P<password>[^\s"']{1,128}+)"""
)

# Hosts whose URLs are themselves the credential: what stands after the literal is hidden.
_WEBHOOKS: Final = (
    ("slack_webhook", "hooks.slack.com/services/", 20),
    ("slack_webhook", "hooks.slack.com/workflows/", 20),
    ("slack_webhook", "hooks.slack.com/triggers/", 20),
    ("discord_webhook", "discord.com/api/webhooks/", 40),
    ("discord_webhook", "discordapp.com/api/webhooks/", 40),
    ("teams_webhook", ".webhook.office.com/webhookb2/", 40),
    ("zapier_webhook", "hooks.zapier.com/hooks/catch/", 10),
)
_SIGNATURES: Final = ("sig=", "x-amz-signature=", "x-goog-signature=")
# Without one of these (the second kind in any case), a text holds no secret of this module.
LITERALS: Final = ("://", "-u", *(literal for _, literal, _ in _WEBHOOKS))
FOLDED_LITERALS: Final = _SIGNATURES


def find_in_addresses(scanner: Scanner) -> Iterator[Finding]:
    """Every secret that stands in a URL or is handed to curl."""
    yield from _find_userinfo(scanner)
    yield from _find_webhooks(scanner)
    yield from _find_signatures(scanner)
    yield from _find_curl_users(scanner)


def _find_userinfo(scanner: Scanner) -> Iterator[Finding]:
    """`scheme://user:password@host`; the user may be empty, as in `redis://:password@host`."""
    text = scanner.text
    at = scanner.find("://", 0)
    while at >= 0:
        start = at + 3
        end = scanner.run(_AUTHORITY, start)
        host = text.rfind("@", start, end)
        colon = text.find(":", start, host) if host > 0 else -1
        scanner.work += 2 * (end - start)
        if at > 0 and text[at - 1].isalnum() and 0 < colon < host - 1 and text[colon + 1] != "]":
            value = text[colon + 1 : host]
            if not (is_masked(value) or is_blank(value) or is_variable(value)):
                # Words such as `password` are hidden here all the same: some databases really run with them.
                yield Finding("url_password", colon + 1, host, 0, example=is_stock_phrase(value))
        at = scanner.find("://", max(end, start))


def _find_webhooks(scanner: Scanner) -> Iterator[Finding]:
    for kind, literal, least in _WEBHOOKS:
        at = scanner.find(literal, 0)
        while at >= 0:
            start = at + len(literal)
            end = scanner.run(_PATH, start)
            path = scanner.text[start:end].rstrip(".")
            last = path[-512:].rpartition("/")[2]
            if len(path) >= least and not is_blank(last) and not is_stock_phrase(path):
                yield Finding(kind, start, start + len(path))
            at = scanner.find(literal, max(end, start))


def _find_signatures(scanner: Scanner) -> Iterator[Finding]:
    """Signed URLs (Azure SAS, S3, Google Cloud Storage): whoever has the signature has the object."""
    for name in _SIGNATURES:
        at = scanner.find(name, 0, folded=True)
        while at >= 0:
            start = at + len(name)
            end = start
            if at and scanner.text[at - 1] in "?&;":
                end = scanner.run(_SIGNATURE, start)
                value = scanner.text[start:end]
                if len(value) >= 30 and not is_placeholder(value[:512]):
                    yield Finding("url_signature", start, end, 4)
            at = scanner.find(name, max(end, start), folded=True)


def _find_curl_users(scanner: Scanner) -> Iterator[Finding]:
    for flag in ("-u", "--user"):
        at = scanner.find(flag, 0)
        while at >= 0:
            line = scanner.before(at, 256)
            line = line[max(line.rfind("\n"), line.rfind("\r")) + 1 :]
            if line.endswith((" ", "\t")) and ("curl" in line or "wget" in line or "http" in line):
                found = scanner.match(_CURL_USER, at, 256)
                if found is not None and not is_placeholder(found["password"]):
                    yield Finding("basic_credentials", *found.span("password"))
            at = scanner.find(flag, at + len(flag))
