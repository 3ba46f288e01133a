"""Secrets in text: find them, hide them, and leave everything else readable.

    >>> from mcpkit.secrets import mask
    >>> mask("DB_PASSWORD=" + "Tr0ub4dor-and-3").text
    'DB_PASSWORD=***'

Three questions are answered, by one set of rules:

* `find_secrets(text)` - where are they, and of what kind? For a caller that refuses such text.
* `mask(text)` - the text without them. For a caller that passes it on.
* `mask_value(value)` - the same for a nested value (a result, an error's details, a log record).

The rules, one module each: `tokens` (shapes that issuers publish), `private_keys`, `headers` (Authorization, Cookie),
`addresses` (connection strings, webhooks, signed URLs) and `assignments` (the name says what the value is).
`placeholders` says what is none of them. There is no rule for "looks random": commit ids, digests, UUIDs and lock-file
integrity values stay as they are.

Promises, each of them tested: masking is idempotent; work is linear in the length of the text for any text (`scanning`
counts it); line breaks survive; no secret is shown whole, and passwords and short values not even in part.

This is a filter for accidents, not a wall: a secret that nothing announces passes through.

Standard library only.
"""

from mcpkit.secrets.findings import Finding
from mcpkit.secrets.masking import (
    MARK,
    MaskedText,
    MaskedValue,
    find_secrets,
    is_secret_name,
    mask,
    mask_value,
)

__all__ = [
    "MARK",
    "Finding",
    "MaskedText",
    "MaskedValue",
    "find_secrets",
    "is_secret_name",
    "mask",
    "mask_value",
]
