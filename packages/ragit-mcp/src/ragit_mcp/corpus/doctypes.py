"""What kind of document a file is (contract A7, with whole words instead of substrings in headings).

The first of these that names a known type decides: `type:` in the front matter, the directories of the path, the
first heading. A document without a known type is a `doc`: it is indexed like any other.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from ragit_mcp.corpus.front_matter import FrontMatter

__all__ = ["DOC_TYPES", "DocType", "detect_type"]

DocType = Literal["adr", "prd", "srs", "spec", "plan", "ddd", "glossary", "pbd", "doc"]

#: Every type, in the order in which directories and headings are asked.
DOC_TYPES: Final[tuple[DocType, ...]] = ("adr", "prd", "srs", "spec", "plan", "ddd", "glossary", "pbd", "doc")

_PHASE_BINDING: Final = r"phase-(?:and-)?bindings?(?:-documents?)?"

# As `type:` in the front matter, whole and in lower case.
_DECLARED: Final[tuple[tuple[DocType, re.Pattern[str]], ...]] = (
    ("adr", re.compile(r"adr")),
    ("prd", re.compile(r"prd")),
    ("srs", re.compile(r"srs")),
    ("spec", re.compile(r"spec|specification")),
    ("plan", re.compile(r"plan")),
    ("ddd", re.compile(r"ddd")),
    ("glossary", re.compile(r"glossary|terms?")),
    ("pbd", re.compile(rf"pbd?|{_PHASE_BINDING}")),
)
# As the name of a directory, whole and in lower case.
_DIRECTORIES: Final[tuple[tuple[DocType, re.Pattern[str]], ...]] = (
    ("adr", re.compile(r"adr|architecture-decision|decisions")),
    ("prd", re.compile(r"prd|product-requirements?")),
    ("srs", re.compile(r"srs|requirements?")),
    ("spec", re.compile(r"specs?|specifications?")),
    ("plan", re.compile(r"plan|roadmap|wbs")),
    ("ddd", re.compile(r"ddd|domain-driven|domain-model")),
    ("glossary", re.compile(r"glossary|terms|vocabulary")),
    ("pbd", re.compile(rf"pbd?|{_PHASE_BINDING}")),
)
# In a heading in lower case: Latin words as a whole, Korean ones anywhere, since particles join them.
_HEADINGS: Final[tuple[tuple[DocType, re.Pattern[str]], ...]] = (
    ("adr", re.compile(r"\b(?:adr|architecture decisions?)\b|결정 ?기록|아키텍처 ?결정")),
    ("prd", re.compile(r"\b(?:prd|product requirements?)\b|제품 ?요구")),
    ("srs", re.compile(r"\b(?:srs|software requirements?)\b|소프트웨어 ?요구")),
    ("spec", re.compile(r"\b(?:specs?|specifications?)\b|명세")),
    ("plan", re.compile(r"\bplans?\b|계획")),
    ("ddd", re.compile(r"\b(?:ddd|domain[ -]driven)\b|도메인 ?주도")),
    ("glossary", re.compile(r"\bglossary\b|용어 ?(?:집|사전)")),
    ("pbd", re.compile(r"\bpbd?\b")),
)


def detect_type(path: str, front_matter: FrontMatter, heading: str | None) -> DocType:
    """The type of a document.

    Args:
        path: its repository path.
        front_matter: the block at its top.
        heading: the title of its first heading, if it has one.
    """
    declared = front_matter.string("type")
    if declared is not None:
        for doc_type, pattern in _DECLARED:
            if pattern.fullmatch(declared.lower()):
                return doc_type
    directories = [name for name in path.lower().split("/")[:-1] if name]
    for doc_type, pattern in _DIRECTORIES:
        if any(map(pattern.fullmatch, directories)):
            return doc_type
    if heading is not None:
        title = heading.lower()
        for doc_type, pattern in _HEADINGS:
            if pattern.search(title):
                return doc_type
    return "doc"
