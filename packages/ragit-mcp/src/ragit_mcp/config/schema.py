"""Every setting: name, type, default, limits (contract A6, with our defaults and additions).

`SETTINGS` is the one list; reading, editing, the default file, `config list` and documentation follow it. Adding a
setting is one line here and one member in `ragit_mcp.config.view`; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from ragit_mcp.corpus.globs import MAX_PATTERNS, GlobSet
from ragit_mcp.errors import IngestError

__all__ = ["PROVIDERS", "SECTIONS", "SETTINGS", "Kind", "Setting", "Value", "ValueRefused", "check_value"]

Value = str | int | float | bool | tuple[str, ...] | None
Kind = Literal["boolean", "globs", "integer", "number", "string", "strings"]

MAX_STRING_CHARACTERS: Final = 4096
MAX_LIST_ITEMS: Final = MAX_PATTERNS

#: Embedding providers and the model each uses when none is named; the first is the default.
PROVIDERS: Final[Mapping[str, str]] = MappingProxyType({
    "wordllama": "l2_supercat_256",
    "transformer": "all-MiniLM-L6-v2",
    "local-placeholder": "placeholder-v1",
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
})
#: Models that exist in one provider only. Left behind when the provider is changed, they give way to its default.
BUILT_IN_MODELS: Final = frozenset({PROVIDERS["wordllama"], PROVIDERS["local-placeholder"]})

_DOC_TYPES: Final = ("adr", "prd", "srs", "spec", "plan", "ddd", "glossary", "pbd")
_EXCLUDED: Final = (
    "**/.git/**",
    "**/.ragit/**",
    "**/node_modules/**",
    "**/dist/**",
    "**/coverage/**",
    "**/.next/**",
)


class _Unset(StrEnum):
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: `section.name`.
        kind: its type.
        default: its value where no source names it; None for one that may be absent.
        summary: what it does, one line.
        choices: the strings it may be; empty for any.
        aliases: other spellings, each with the choice it is read as.
        minimum: least number.
        maximum: greatest number.
        fallback: the value that stands in for one that is not valid, with a warning. Only where an older file must
            go on working, and never a laxer value than the default.
        strictest: the values from lax to strict. Whichever source names the strictest wins: a repository cannot undo
            what its user decided, nor the other way round.
        user_only: a repository's file cannot set it.
    """

    key: str
    kind: Kind
    default: Value
    summary: str
    choices: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    fallback: Value | _Unset = _Unset.UNSET
    strictest: tuple[Value, ...] = ()
    user_only: bool = False

    @property
    def section(self) -> str:
        """The part of the key before the dot."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The part of the key after the dot."""
        return self.key.partition(".")[2]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "RAGIT_" + self.key.replace(".", "_").upper()

    @property
    def has_fallback(self) -> bool:
        """Whether a value that is not valid is replaced instead of refused."""
        return not isinstance(self.fallback, _Unset)

    @property
    def expectation(self) -> str:
        """What a valid value is, in words that follow 'must be'."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {
            "boolean": "true or false",
            "globs": f"a list of at most {MAX_LIST_ITEMS} glob patterns relative to the repository",
            "integer": "a whole number",
            "number": "a number",
            "string": f"a string of at most {MAX_STRING_CHARACTERS} printable characters that is not blank",
            "strings": f"a list of at most {MAX_LIST_ITEMS} strings that are not blank",
        }[self.kind]
        if self.minimum is None and self.maximum is None:
            return words
        if self.maximum is None:
            return f"{words} of at least {self.minimum:g}"
        return f"{words} from {self.minimum:g} to {self.maximum:.15g}"


class ValueRefused(Exception):
    """A value does not fit its setting; the reason, in words, holds nothing of the value."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.reason: str = f"must be {setting.expectation}"
        super().__init__(self.reason)


def check_value(setting: Setting, value: object) -> Value:
    """The value as the setting keeps it: lists as tuples, strings stripped, aliases resolved.

    Raises:
        ValueRefused: another type, out of range, none of the choices, blank, too long, or control characters.
    """
    if setting.kind == "boolean":
        if isinstance(value, bool):
            return value
    elif setting.kind in {"integer", "number"}:
        return _number(setting, value)
    elif setting.kind == "string":
        text = _string(value)
        if text is not None:
            text = dict(setting.aliases).get(text, text)
            if not setting.choices or text in setting.choices:
                return text
    elif isinstance(value, list | tuple) and len(value) <= MAX_LIST_ITEMS:
        items = tuple(item for item in map(_string, value) if item is not None)
        if len(items) == len(value) and (setting.kind == "strings" or _are_globs(items)):
            return items
    raise ValueRefused(setting)


def _are_globs(patterns: Iterable[str]) -> bool:
    try:
        GlobSet(patterns)
    except IngestError:
        return False
    return True


def _number(setting: Setting, value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueRefused(setting)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueRefused(setting)
        if setting.kind == "integer" and not value.is_integer():
            raise ValueRefused(setting)
    # Compared before any conversion: an integer of a thousand digits has no float.
    if setting.minimum is not None and value < setting.minimum:
        raise ValueRefused(setting)
    if setting.maximum is not None and value > setting.maximum:
        raise ValueRefused(setting)
    return int(value) if setting.kind == "integer" else value


def _string(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    if not text or len(text) > MAX_STRING_CHARACTERS:
        return None
    if any(
        character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff"
        for character in text
    ):
        return None
    return text


_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("project.name", "string", "ragit-project", "name of the project"),
    Setting("project.default_branch", "string", "main", "name of the main branch; information only"),
    Setting(
        "project.mode",
        "string",
        "auto",
        "kind of repository that init assumes",
        choices=("auto", "empty", "existing", "monorepo", "docs-heavy"),
    ),
    Setting(
        "init.strategy",
        "string",
        "balanced",
        "how much init --scaffold writes",
        choices=("minimal", "balanced", "full"),
    ),
    Setting("init.merge_existing", "boolean", True, "init --scaffold keeps documents that exist"),
    Setting("docs.entrypoint", "string", "RAGIT.md", "document that init --scaffold writes first"),
    Setting("docs.workspace_map", "string", "docs/workspace-map.md", "map of the workspace"),
    Setting("docs.ingestion_policy", "string", "docs/ragit/ingestion-policy.md", "what is indexed and why"),
    Setting("docs.known_gaps", "string", "docs/known-gaps.md", "what the documents do not say"),
    Setting("docs.adr_dir", "string", "docs/adr", "directory of decision records"),
    Setting("docs_authority.auto_refresh_on_hook", "boolean", False, "hooks refresh the document index"),
    Setting("docs_authority.validate_on_ingest", "boolean", True, "ingest warns of missing sections"),
    Setting("docs_authority.canonical_root", "string", "docs", "directory of canonical documents"),
    Setting("storage.backend", "string", "sqlite", "kind of store; information only", choices=("sqlite",), aliases=(("zvec", "sqlite"),)),
    Setting("storage.manifest_dir", "string", ".ragit/manifest", "place of manifests; information only"),
    Setting("storage.vector_dir", "string", ".ragit/store", "place of the store; information only"),
    Setting(
        "embedding.provider",
        "string",
        next(iter(PROVIDERS)),
        "what turns text into vectors",
        choices=tuple(PROVIDERS),
    ),
    Setting("embedding.model", "string", None, "model of the provider; its own default if absent"),
    Setting("embedding.timeout_ms", "integer", 30_000, "longest wait for a provider, milliseconds", minimum=1, maximum=3_600_000, fallback=30_000),
    Setting("embedding.cache_enabled", "boolean", True, "keep vectors of texts already embedded"),
    Setting("embedding.cache_dir", "string", ".ragit/cache/embeddings", "place of the cache, inside the repository"),
    Setting("embedding.dimensions", "integer", None, "length of a vector; the model's own if absent", minimum=1, maximum=65_536),
    Setting("embedding.version", "string", None, "version of the vectors; the model's own if absent"),
    Setting("embedding.base_url", "string", None, "address of a provider's service"),
    Setting("embedding.model_dir", "string", None, "directory of a local model for the provider transformer"),
    Setting("ingest.supported_types", "strings", _DOC_TYPES, "types with a name of their own; information only"),
    Setting("ingest.type_detection", "string", "frontmatter-first", "how a type is found", choices=("frontmatter-first",)),
    Setting("ingest.doc_globs", "globs", ("**/*.md", "**/*.mdx"), "globs that say what a document is"),
    Setting("ingest.include", "globs", ("README.md", "docs/**"), "globs of the documents to index"),
    Setting("ingest.exclude", "globs", _EXCLUDED, "globs of what is never indexed"),
    Setting("ingest.max_file_bytes", "integer", 5 * 2**20, "largest document, bytes", minimum=1, maximum=2**30),
    Setting("hooks.post_commit", "boolean", True, "index after a commit"),
    Setting("hooks.post_merge", "boolean", True, "index after a merge"),
    Setting("retrieval.alpha", "number", 0.5, "share of vectors in the score: 1 vectors only, 0 keywords only", minimum=0, maximum=1),
    Setting("retrieval.top_k", "integer", 5, "passages that a query returns", minimum=1, maximum=1000),
    Setting("retrieval.keyword_enabled", "boolean", True, "search keywords beside vectors"),
    Setting("retrieval.budget_unit", "string", "words", "what a context pack's budget counts", choices=("words", "tokens")),
    Setting("memory.corpus_dir", "string", "docs/memory", "directory of promoted memory"),
    Setting("memory.session_dir", "string", ".ragit/memory/sessions", "directory of session memory"),
    Setting("memory.working_dir", "string", ".ragit/memory/working", "directory of working memory"),
    Setting("memory.auto_ingest_promotions", "boolean", True, "index what is promoted"),
    Setting("memory.recall_top_k", "integer", 8, "passages that a recall returns", minimum=1, maximum=1000),
    Setting("security.secret_masking", "boolean", True, "mask secrets; ingest refuses to write without it", fallback=True, strictest=(False, True)),
    Setting(
        "security.remote_embedding_policy",
        "string",
        "allow-sanitized",
        "whether masked text may go to a remote provider at all",
        choices=("allow-sanitized", "local-only"),
        strictest=("allow-sanitized", "local-only"),
    ),
    Setting("security.quarantine_on_redaction", "boolean", True, "record documents that were masked", fallback=True, strictest=(False, True)),
    Setting(
        "security.admission_mode",
        "string",
        "enforce",
        "whether documents full of secrets are left out or only reported",
        choices=("report-only", "enforce"),
        fallback="enforce",
        strictest=("report-only", "enforce"),
    ),
    Setting("output.format", "string", "both", "what commands print", choices=("text", "json", "both"), aliases=(("markdown", "text"), ("table", "text"))),
    Setting("output.language", "string", "en", "language of messages; information only"),
    Setting(
        "trust.hosts",
        "strings",
        (),
        "remote hosts that text and keys may be sent to; user configuration or environment only",
        user_only=True,
    ),
    Setting(
        "trust.model_dirs",
        "strings",
        (),
        "directories below which a repository may name a model; user configuration or environment only",
        user_only=True,
    ),
)  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType({setting.key: setting for setting in _SETTINGS})
SECTIONS: Final[tuple[str, ...]] = tuple(dict.fromkeys(setting.section for setting in _SETTINGS))
