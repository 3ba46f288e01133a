"""What a document of each type should contain (contract A7): advice that ingest gives as warnings, never a refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ragit_mcp.corpus.doctypes import DOC_TYPES, DocType, detect_type
from ragit_mcp.corpus.front_matter import FrontMatter
from ragit_mcp.corpus.headings import Heading

__all__ = ["REQUIRED_SECTIONS", "Violation", "check_contract"]

ViolationKind = Literal["section_missing", "title_missing", "topology_missing", "type_unknown"]

#: Titles of level 2 that a document of a type should have.
REQUIRED_SECTIONS: Final[Mapping[DocType, tuple[str, ...]]] = {
    "adr": ("Context", "Decision", "Consequences"),
    "prd": ("Goal", "User Stories", "Acceptance Criteria"),
    "srs": ("Functional Requirements", "Non-Functional Requirements"),
    "spec": (
        "Scope",
        "Functional Requirements",
        "Interfaces and Contracts",
        "State and Flow",
        "Acceptance Criteria",
    ),
    "plan": ("Milestones", "Work Breakdown"),
    "ddd": ("Bounded Context", "Aggregate"),
    "glossary": ("Terms",),
}
#: A phase and binding document has six sections of its author's naming and a heading that starts like `[B1]`.
PBD_SECTIONS: Final = 6
_TOPOLOGY: Final = re.compile(r"\[B[0-9]+\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a document of its type lacks.

    Attributes:
        kind: stable name of the case.
        message: the case in words that follow the document's name; holds nothing of the document.
    """

    kind: ViolationKind
    message: str


def check_contract(
    doc_type: DocType, front_matter: FrontMatter, headings: Sequence[Heading]
) -> tuple[Violation, ...]:
    """What a document lacks; a plain `doc` owes nothing but a type that is known, if it declares one."""
    found: list[Violation] = []
    if front_matter.string("type") is not None and detect_type("", front_matter, None) == "doc":
        known = ", ".join(DOC_TYPES[:-1])
        found.append(Violation("type_unknown", f"declares a type that is none of {known}"))
    if doc_type == "doc":
        return tuple(found)
    if not any(heading.level == 1 for heading in headings):
        found.append(Violation("title_missing", "has no heading of level 1"))
    sections = [heading.title for heading in headings if heading.level == 2]
    present = {title.casefold() for title in sections}
    found.extend(
        Violation("section_missing", f"is a document of type {doc_type} without a section '{title}'")
        for title in REQUIRED_SECTIONS.get(doc_type, ())
        if title.casefold() not in present
    )
    if doc_type == "pbd":
        if len(sections) < PBD_SECTIONS:
            found.append(
                Violation("section_missing", f"is of type pbd with fewer than {PBD_SECTIONS} sections")
            )
        if not any(_TOPOLOGY.match(heading.title) for heading in headings):
            found.append(
                Violation("topology_missing", "is of type pbd without a topology heading such as '[B1] ...'")
            )
    return tuple(found)
