"""Every command: its flags, help and examples. Parsing, help pages, `describe` and the documentation follow this list.

A flag's name means the same kind of flag in every command (with a value or without), so that a command line can be read
before its command is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "COMMANDS",
    "GLOBAL_FLAGS",
    "LATER_COMMANDS",
    "PROGRAM",
    "Command",
    "Flag",
    "Format",
    "find_command",
]

PROGRAM: Final = "ragit"
Format = Literal["text", "json", "both"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    Attributes:
        name: without dashes.
        help: what it does.
        value: name of its value; empty for a switch.
        choices: the values there are.
        least: least whole number, for flags that take one.
        greatest: greatest whole number.
        default: what holds without it, for help pages.
        repeatable: every value counts.
        member: the member of an input document that says the same; empty if none does.
    """

    name: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    greatest: int | None = None
    default: str = ""
    repeatable: bool = False
    member: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: its words.
        summary: one line.
        module: module below `ragit_mcp.cli.commands` whose function `run` does it.
        format: what is printed when nothing else says so.
        argument: name of its positional arguments in help pages; empty if it takes none.
        arguments: least and greatest number of positional arguments; None for any number.
        argument_member: member of an input document that says the same as the argument.
        flags: its own flags.
        detail: more help.
        examples: command lines without the program's name.
        members: further members of its input document, beside those of flags and argument.
        writes: what it writes, for `describe`; empty for a command that only reads.
        hidden: not shown in help pages.
    """

    name: str
    summary: str
    module: str
    format: Format
    argument: str = ""
    arguments: tuple[int, int | None] = (0, 0)
    argument_member: str = ""
    flags: tuple[Flag, ...] = ()
    detail: str = ""
    examples: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    writes: str = ""
    hidden: bool = False

    @property
    def input_members(self) -> tuple[str, ...]:
        """Members of its input document; empty if it takes none."""
        if not any(flag.name == "input" for flag in self.flags):
            return ()
        own = (self.argument_member, *(flag.member for flag in self.flags), *self.members)
        return tuple(dict.fromkeys(member for member in own if member))


_SCOPES: Final = ("durable", "session", "harness", "evidence", "all")
_INPUT: Final = Flag(
    "input", "read the request from a JSON file of the repository, or from stdin (-)", "FILE|-"
)
_DRY_RUN: Final = Flag("dry-run", "say what would be done and write nothing")
_AT: Final = Flag("at", "read this commit: HEAD, or 4 or more digits of its id", "COMMIT", member="at")
_SCOPE: Final = Flag("scope", "what is searched", "SCOPE", choices=_SCOPES, default="durable", member="scope")
_VIEW: Final = Flag(
    "view", "how much of a passage is shown", "VIEW", choices=("minimal", "default", "full"), default="default", member="view"
)  # fmt: skip

GLOBAL_FLAGS: Final = (
    Flag("cwd", "work on the repository that holds this directory", "DIR", default="."),
    Flag("format", "what is printed", "FORMAT", choices=("text", "json", "both")),
    Flag("help", "show this help; also -h"),
    Flag("version", "print the version"),
)

COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "init",
        "make a repository ready: write .ragit/ and nothing else",
        "init",
        "text",
        flags=(
            Flag("yes", "do not ask"),
            Flag("non-interactive", "do not ask; the same as --yes"),
            Flag("mode", "kind of repository; decides which documents are indexed", "MODE", choices=("auto", "empty", "existing", "monorepo", "docs-heavy"), default="auto"),
            Flag("scaffold", "write starter documents and AGENTS.md too, where there are none"),
            Flag("strategy", "how much --scaffold writes", "STRATEGY", choices=("minimal", "balanced", "full"), default="balanced"),
            Flag("merge-existing", "with --scaffold: add a marked section to an AGENTS.md that exists"),
            Flag("git-init", "make a git repository first, if there is none"),
            _DRY_RUN,
            Flag("output", "the same as --format", "FORMAT", choices=("text", "json", "both")),
        ),
        detail="Files that exist are left as they are. .ragit/.gitignore keeps everything that ragit makes out of git.",
        examples=("init --yes", "init --yes --scaffold --strategy minimal", "init --dry-run --format json"),
        writes=".ragit/config.toml, .ragit/.gitignore; with --scaffold starter documents and AGENTS.md",
    ),
    Command(
        "ingest",
        "index the documents of HEAD's commit",
        "ingest",
        "json",
        flags=(
            Flag("all", "every document that the configured globs select (the default)", member="all"),
            Flag("since", "what changed since this indexed commit", "COMMIT", member="since"),
            Flag("files", "documents that these globs match, separated by commas; ! in front takes away", "GLOBS", member="files"),
            Flag("path", "this document; may be repeated", "PATH", repeatable=True, member="paths"),
            Flag("scope", "scope that the request is about; artifacts that wait for the commit are bound either way", "SCOPE", choices=("durable", "all"), default="durable", member="scope"),
            Flag("strict-clean", "fail if documents in the work tree differ from the commit", member="strictClean"),
            _DRY_RUN,
            _INPUT,
        ),
        detail="The commit is indexed, never the work tree: changes that are not committed are warned of and left out.\n"
        "Only what is new is read and embedded. What was searchable before stays so until the new index is complete.",
        examples=("ingest", "ingest --since 1a2b3c4 --dry-run", "ingest --path docs/a.md --path docs/b.md", "ingest --files 'docs/**,!docs/old/**'"),
        writes=".ragit/store, .ragit/manifest, .ragit/cache, .ragit/runtime, .ragit/security, .ragit/log",
    ),
    Command(
        "query",
        "ask what the documents of a commit say",
        "query",
        "both",
        argument="QUESTION",
        arguments=(0, None),
        argument_member="question",
        flags=(
            Flag("top-k", "number of passages", "N", least=1, greatest=1000, default="retrieval.top_k", member="topK"),
            _SCOPE,
            _VIEW,
            Flag("explain", "say how each score came about", member="explain"),
            _AT,
            _INPUT,
        ),
        detail="Any text is a valid question. Words are joined, so quotes are only needed for what the shell would take.",
        examples=("query how are secrets masked", "query --top-k 3 --view full retry policy", "query --at HEAD --format json -- --flag-like words"),
        writes="the embedding cache, for providers that are worth one",
    ),
    Command(
        "context pack",
        "collect passages for a goal, within a budget",
        "context_pack",
        "both",
        argument="GOAL",
        arguments=(0, None),
        argument_member="goal",
        flags=(
            Flag("budget", "how much text the passages may have together", "N", least=1, greatest=10_000_000, default="1200", member="budget"),
            Flag("budget-unit", "what the budget counts", "UNIT", choices=("words", "tokens"), default="retrieval.budget_unit", member="budgetUnit"),
            _SCOPE,
            _VIEW,
            _AT,
            _INPUT,
        ),
        examples=("context pack change the retry policy", "context pack --budget 4000 --budget-unit tokens --view full deploy a hotfix"),
        writes="the embedding cache, for providers that are worth one",
    ),
    Command("status", "show what is indexed and what is not", "status", "json", examples=("status", "status --format text")),
    Command(
        "doctor",
        "look for what is wrong, and say what helps",
        "doctor",
        "text",
        detail="Exit 1 if a check fails.",
        examples=("doctor", "doctor --format json"),
    ),
    Command("config list", "show every setting, its value and who chose it", "config_list", "text", examples=("config list", "config list --format json")),
    Command(
        "config set",
        "change one setting of the repository",
        "config_set",
        "text",
        argument="KEY VALUE",
        arguments=(2, 2),
        detail="Lists are separated by commas. The rest of the file, comments included, stays as it is.",
        examples=('config set ingest.include "README.md,docs/**,notes/**"', "config set retrieval.top_k 8"),
        writes=".ragit/config.toml",
    ),
    Command(
        "describe",
        "say as JSON what a command takes",
        "describe",
        "json",
        argument="COMMAND",
        arguments=(0, 3),
        examples=("describe", "describe query", "describe context pack"),
    ),
    Command(
        "hooks install",
        "keep the index up to date with git hooks",
        "hooks",
        "text",
        detail="Hooks run after a commit and after a merge, respect core.hooksPath, and never fail the git command. A hook that is\n"
        "there already stays in force.",
        examples=("hooks install",),
        writes="post-commit and post-merge in git's directory of hooks",
    ),
    Command("hooks uninstall", "take ragit out of the git hooks again", "hooks", "text", examples=("hooks uninstall",), writes="post-commit and post-merge in git's directory of hooks"),
    Command("hooks status", "show which git hooks are installed", "hooks", "text", examples=("hooks status",)),
    Command("hooks run", "what an installed hook does", "hooks_run", "text", argument="NAME", arguments=(1, 1), hidden=True, writes="as ingest"),
    Command(
        "session materialize",
        "capture what a session taught as artifacts to be reviewed",
        "session_materialize",
        "json",
        flags=(_DRY_RUN, _INPUT),
        members=("goal", "episode", "turns", "toolTraces", "relatedPaths", "sourceHeadSha", "createdAt"),
        detail="Needs --input. The transcript is masked before anything is kept.",
        examples=("session materialize --input session.json --dry-run",),
        writes=".ragit/artifacts/session, .ragit/log",
    ),
    Command(
        "artifact review",
        "change the status of an artifact: reviewed ones are searched",
        "artifact_review",
        "json",
        argument="ARTIFACT",
        arguments=(0, 1),
        argument_member="artifactId",
        flags=(
            Flag("status", "its new status", "STATUS", choices=("reviewed", "superseded", "retracted", "archived"), member="status"),
            Flag("note", "why; kept in the event log", "TEXT", member="note"),
            _DRY_RUN,
            _INPUT,
        ),
        examples=("artifact review art_session_insight_0123456789abcdef --status reviewed",),
        writes=".ragit/artifacts, .ragit/log",
    ),
    Command(
        "harness capture",
        "capture a case, an oracle, a failure or another piece of the harness",
        "harness_capture",
        "json",
        flags=(_DRY_RUN, _INPUT),
        members=(
            "goal", "kind", "title", "summary", "text", "episode", "evidence", "relatedPaths", "tags", "confidence",
            "sourceHeadSha", "createdAt", "payload",
        ),
        detail="Needs --input.",
        examples=("harness capture --input case.json",),
        writes=".ragit/artifacts/harness, .ragit/log",
    ),
    Command(
        "security audit",
        "look for secrets in everything that ragit keeps",
        "security_audit",
        "json",
        flags=(
            Flag("target", "where to look", "TARGET", choices=("control-plane", "store", "cache", "quarantine", "all"), default="all"),
            _DRY_RUN,
        ),
        examples=("security audit", "security audit --target store --dry-run"),
        writes=".ragit/security/state.json",
    ),
)  # fmt: skip

#: Commands of the contract that come later; each will be one module beside the others.
LATER_COMMANDS: Final = (
    "doc",
    "drift",
    "harness pack",
    "harness promote",
    "harness run",
    "harness verify",
    "log",
    "memory",
    "migrate",
    "narrative",
    "repair",
    "security purge",
    "timeline",
)


def find_command(words: tuple[str, ...]) -> Command | None:
    """The command that the first words name; the longer name wins."""
    for count in (2, 1):
        name = " ".join(words[:count])
        for command in COMMANDS:
            if len(words) >= count and command.name == name:
                return command
    return None
