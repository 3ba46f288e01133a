"""Starter documents: short, honest, and written only where nothing stands yet.

The texts are a frame to be filled in. What ragit needs is none of them: it indexes whatever documents there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ragit_mcp.config.view import DocsConfig

__all__ = ["AGENTS_FILE", "agents_section", "starter_documents", "with_agents_section"]

AGENTS_FILE: Final = "AGENTS.md"
_BEGIN: Final = "<!-- ragit:begin -->"
_END: Final = "<!-- ragit:end -->"

_ENTRY: Final = """\
# {name}: where knowledge is

Start here. This page says which documents count and where they are.

- Map of the workspace: [{workspace_map}]({workspace_map})
- What is indexed, and why: [{ingestion_policy}]({ingestion_policy})
- What the documents do not say yet: [{known_gaps}]({known_gaps})
- Decisions: `{adr_dir}/`
"""

_WORKSPACE_MAP: Final = """\
# Workspace map

One line for each directory that somebody new would ask about.

| Directory | What it holds | Who knows it |
| --- | --- | --- |
| `docs/` | documents | |
"""

_POLICY: Final = """\
# What is indexed, and why

`ragit config list` shows the globs in force: `ingest.include` adds documents, `ingest.exclude` takes them away.

- Indexed: documents that are kept up to date with the code.
- Not indexed: generated pages, copies, drafts.
- Secrets never belong in documents. ragit masks what it recognises and keeps files full of them out; that is a net, not a
  permission.
"""

_GAPS: Final = """\
# Known gaps

Questions that the documents do not answer yet. A gap that is written down is found by whoever searches for it.

- Question:
  - Why it matters:
  - Who could answer:
"""

_SECTION: Final = """\
## Knowledge of this repository

Ask before you guess: `ragit query "your question"` (or the tool `ragit_query`) answers with passages of the documents of
the current commit, each with path and lines. Cite them. A commit that is not indexed is refused; then run the command
that the error names.
"""

_TEMPLATES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType({
    "adr": ("Decision", ("Context", "Decision", "Consequences")),
    "prd": ("Product requirements", ("Goal", "User Stories", "Acceptance Criteria")),
    "srs": ("Software requirements", ("Functional Requirements", "Non-Functional Requirements")),
    "spec": (
        "Specification",
        (
            "Scope",
            "Functional Requirements",
            "Interfaces and Contracts",
            "State and Flow",
            "Acceptance Criteria",
        ),
    ),
    "plan": ("Plan", ("Milestones", "Work Breakdown")),
    "ddd": ("Domain model", ("Bounded Context", "Aggregate")),
    "glossary": ("Glossary", ("Terms",)),
})


def starter_documents(name: str, docs: DocsConfig, strategy: str) -> Iterator[tuple[str, str]]:
    """Paths and texts of the starter documents.

    Args:
        name: of the project.
        docs: where they belong.
        strategy: `minimal` for the entry page, `balanced` for all pages, `full` for templates as well.
    """
    places = {
        "workspace_map": docs.workspace_map,
        "ingestion_policy": docs.ingestion_policy,
        "known_gaps": docs.known_gaps,
        "adr_dir": docs.adr_dir,
    }
    yield docs.entrypoint, _ENTRY.format(name=name, **places)
    if strategy == "minimal":
        return
    yield docs.workspace_map, _WORKSPACE_MAP
    yield docs.ingestion_policy, _POLICY
    yield docs.known_gaps, _GAPS
    if strategy == "full":
        for doc_type, (title, headings) in _TEMPLATES.items():
            yield f".ragit/guide/templates/{doc_type}.template.md", _template(doc_type, title, headings)


def _template(doc_type: str, title: str, headings: tuple[str, ...]) -> str:
    sections = "".join(f"\n## {heading}\n\n" for heading in headings)
    return f"---\ntype: {doc_type}\n---\n\n# {title}: \n{sections}"


def agents_section() -> str:
    """What AGENTS.md says about ragit, between marks."""
    return f"{_BEGIN}\n{_SECTION}{_END}\n"


def with_agents_section(text: str) -> str:
    """AGENTS.md with our section: in its old place if it was there, else at the end."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if begin and end:
        return before + agents_section().removesuffix("\n") + after
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + agents_section()
