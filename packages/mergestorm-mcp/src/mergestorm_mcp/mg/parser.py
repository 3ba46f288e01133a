"""Commands, flags and help of `mg`. Standard library only: help and a wrong flag cost no import of anything else.

Values are checked here as far as they can be without the service. What is not given is not in the result at all, so that
"left out" and "default" stay two things. Messages never repeat an argument that could be a key typed in the wrong place.
"""

from __future__ import annotations

import argparse
import math
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from mergestorm_mcp import __version__

__all__ = [
    "COMMANDS",
    "SETTINGS_CHOICES",
    "SETTINGS_SWITCHES",
    "SUBCOMMANDS",
    "LineError",
    "parse",
    "pull_request",
]

_OWNER_REPO: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,98})/[A-Za-z0-9._-]{1,100}")
_MAX_WAIT: Final = 86_400.0
_OPTIONAL: Final = frozenset({"limit", "repository", "verb"})
"""Positional arguments with a check: argparse would check the mark for "left out" as well, so theirs is None."""

SETTINGS_SWITCHES: Final = {
    "auto-review": ("auto_review_enabled", "Vortex reviews new heads by itself."),
    "auto-patch": ("auto_patch_enabled", "Cyclone patches findings."),
    "auto-resolve-conflicts": ("auto_resolve_conflicts_enabled", "Cyclone resolves conflicts."),
    "auto-fix-ci": ("auto_fix_ci_enabled", "Cyclone fixes failing CI."),
    "vortex-thinking": ("vortex_show_thinking_traces", "Show thinking traces."),
    "repo-overview": ("repo_overview_enabled", "Write repository overviews."),
    "review-unit-land": ("review_unit_land_prs_enabled", "Review land PRs."),
    "cyclone-skip-ci": ("cyclone_skip_ci_enabled", "Cyclone's commits skip CI."),
    "cyclone-patch-unverified": ("cyclone_patch_unverified_languages", "Patch languages it cannot verify."),
    "vortex-auto-overflow": ("vortex_auto_overflow_enabled", "Pay for reviews beyond the plan."),
    "vortex-skip-all-clear": ("vortex_skip_all_clear_comments", "No comment when all is clear."),
    "vortex-seam": ("vortex_seam_specialist_enabled", "Run the seam specialist."),
    "auto-land": ("auto_land_default", "Auto land for new stacks."),
    "merge-queue-batch": ("merge_queue_batch_enabled", "Land in batches."),
}
SETTINGS_CHOICES: Final = {
    "vortex-skip-check": ("vortex_bot_skip_check", ("none", "neutral"), "Check on ignored bots' PRs."),
    "vortex-findings": ("vortex_findings_check", ("failure", "neutral", "success"), "Check with findings."),
    "cyclone-fail-check": ("cyclone_patch_failure_check", ("failure", "neutral"), "Check of a failed patch."),
}
REPOSITORY_SWITCHES: Final = {
    "auto-patch": "Cyclone patches findings.",
    "auto-review": "Vortex reviews new heads by itself.",
    "auto-land": "Auto land for new stacks.",
    "merge-queue-batch": "Land in batches.",
    "merge-queue-overdrive": "Merge queue overdrive.",
}
STACK_POLICY: Final = {
    "auto-review": "Vortex auto-review.",
    "auto-patch": "Cyclone auto-patch.",
    "auto-resolve-conflicts": "Resolve merge conflicts.",
    "auto-fix-ci": "Fix failing CI.",
}


class LineError(Exception):
    """The command line is wrong.

    Args:
        message: what is wrong.
        hint: where help is, a command.
        exit_code: 2, or 1 for a command that does not exist.
    """

    def __init__(self, message: str, hint: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        fixed: dict[str, Any] = {"allow_abbrev": False, "argument_default": argparse.SUPPRESS}
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options, **fixed)

    def error(self, message: str) -> NoReturn:
        raise LineError(message, f"{self.prog} --help")


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """Read a command line.

    Returns:
        The values given, `command` among them ("stack watch"), and `json`.

    Raises:
        LineError: wrong arguments.
        SystemExit: help or the version was asked for and printed.
    """
    parser = _build()
    _known_command(arguments)
    found, unknown = parser.parse_known_args(list(arguments))
    values = {
        name: value for name, value in vars(found).items() if value is not None or name not in _OPTIONAL
    }
    if unknown:
        flags = [item.partition("=")[0] for item in unknown if item.startswith("-")]
        what = f"unknown flag {flags[0]}" if flags else "one argument too many"
        raise LineError(what, f"mg {values.get('command', '')} --help".replace("  ", " "))
    return values


COMMANDS: Final = (
    "login", "logout", "whoami", "credits", "usage", "settings", "repo-settings", "review", "pr", "jobs", "status",
    "dismiss", "issue", "queue", "stack",
)  # fmt: skip
SUBCOMMANDS: Final = {
    "issue": ("create",),
    "stack": ("list", "ls", "adopt", "status", "set", "wait", "watch", "publish", "publish-status"),
}


def _known_command(arguments: Sequence[str]) -> None:
    """Refuse a command that does not exist with exit 1, which argparse would not do."""
    words = arguments[:2]
    if not words or words[0].startswith("-"):
        return
    if words[0] not in COMMANDS:
        raise LineError("there is no such command", "mg --help", 1)
    below = SUBCOMMANDS.get(words[0])
    if below and len(words) == 2 and not words[1].startswith("-") and words[1] not in below:
        raise LineError(f"{words[0]} has no such command", f"mg {words[0]} --help", 1)


def _build() -> _Parser:
    parser = _Parser(
        prog="mg",
        description="Mergestorm at the command line: reviews, stacks of pull requests and the merge queue.",
        epilog=(
            "Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 quota or attention, 4 failed job or refused dismissal,\n"
            "5 time is up, 6 no valid key, 7 rate limited, 130 stopped.\n\n"
            "Examples:\n  mg login\n  mg review\n  mg stack publish\n  mg stack watch <stack id>"
        ),
    )
    parser.add_argument("-v", "--version", action="version", version=f"mg {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="<command>", parser_class=_Parser)
    _account(commands)
    _settings(commands)
    _reviews(commands)
    _issues(commands)
    _stacks(commands)
    return parser


def _command(
    commands: Any,
    name: str,
    summary: str,
    *examples: str,
    full: str | None = None,
    aliases: Sequence[str] = (),
) -> _Parser:
    full = full or name
    lines = "\n".join(f"  mg {example}" for example in examples or (full,))
    made: _Parser = commands.add_parser(
        name, help=summary, description=summary, epilog=f"Examples:\n{lines}", aliases=list(aliases)
    )
    made.set_defaults(command=full, json=False)
    made.add_argument("--json", action="store_true", default=False, help="print one JSON document")
    return made


def _account(commands: Any) -> None:
    login = _command(
        commands, "login", "Log in with a code to approve in a browser, or with a key.",
        "login", "login --key < key.txt", "login --start && mg login --finish",
    )  # fmt: skip
    way = login.add_mutually_exclusive_group()
    way.add_argument(
        "--key", action="store_true", help="ask for an API key (or read it from the input) and verify it"
    )
    way.add_argument("--start", action="store_true", help="show link and code, and do not wait")
    way.add_argument("--finish", action="store_true", help="store the key once the code is approved")
    login.add_argument("--timeout", type=_seconds(0), metavar="S", help="seconds --finish waits (default 30)")
    _command(commands, "logout", "Forget the stored key and a pending login.")
    _command(commands, "whoami", "The account behind the key.", "whoami --json")
    _command(commands, "credits", "Review credits used and left.", "credits --json", aliases=("usage",))


def _settings(commands: Any) -> None:
    settings = _command(
        commands, "settings", "Show account settings, or change those that are named.",
        "settings", "settings --auto-patch off --auto-land-settle 60", "settings --ignore-bot add renovate[bot]",
    )  # fmt: skip
    for flag, (name, text) in SETTINGS_SWITCHES.items():
        settings.add_argument(f"--{flag}", dest=name, type=_on_off, metavar="on|off", help=text)
    settings.add_argument(
        "--auto-land-settle", dest="auto_land_settle_seconds", type=_whole(15, 300), metavar="S",
        help="seconds Auto land lets a head settle, 15 to 300",
    )  # fmt: skip
    settings.add_argument(
        "--merge-queue-batch-size", type=_whole(2, 8), metavar="N", help="largest batch, 2 to 8"
    )
    settings.add_argument(
        "--ignore-bot", nargs="+", action="append", metavar="add|remove|clear",
        help="change the ignored bots: add LOGIN, remove LOGIN or clear; may be repeated",
    )  # fmt: skip
    for flag, (name, choices, text) in SETTINGS_CHOICES.items():
        settings.add_argument(f"--{flag}", dest=name, choices=choices, help=text)
    own = _command(
        commands, "repo-settings",
        "Show settings of repositories, or change those of one; `default` gives a setting back to the account.",
        "repo-settings", "repo-settings acme/shop --auto-patch off", "repo-settings acme/shop --auto-land default",
    )  # fmt: skip
    own.add_argument("repository", nargs="?", default=None, type=_repository, metavar="owner/repo")
    for flag, text in REPOSITORY_SWITCHES.items():
        own.add_argument(f"--{flag}", type=_on_off_default, metavar="on|off|default", help=text)
    own.add_argument(
        "--merge-queue-batch-size",
        type=_or_default(_whole(2, 8)),
        metavar="N|default",
        help="largest batch, 2 to 8",
    )
    own.add_argument(
        "--lands-alone", dest="merge_queue_lands_alone_paths", type=_or_default(str), action="append",
        metavar="PATH|default", help="changes of this path land alone; may be repeated",
    )  # fmt: skip


def _reviews(commands: Any) -> None:
    review = _command(
        commands, "review", "Have the committed changes of this checkout reviewed.",
        "review", "review main topic --no-wait --json", "review --specialists security,tests",
        "review --context - < notes.txt",
    )  # fmt: skip
    review.add_argument("base", nargs="?", help="compare with this; default: the trunk")
    review.add_argument("head", nargs="?", help="review this; default: HEAD")
    waits = review.add_mutually_exclusive_group()
    waits.add_argument("--wait", dest="wait", action="store_true", help="wait for the result (default)")
    waits.add_argument("--no-wait", dest="wait", action="store_false", help="return once it is submitted")
    review.add_argument("--timeout", type=_seconds(1), metavar="S", help="seconds to wait (default 480)")
    review.add_argument(
        "--router", choices=("off", "standard", "max", "manual"), help="choice of specialists"
    )
    review.add_argument(
        "--specialists", type=_names, metavar="A,B", help="1 to 5 specialists; implies --router manual"
    )
    review.add_argument(
        "--context", metavar="TEXT|-", help="what the reviewer should know; - reads the input"
    )
    review.add_argument(
        "--context-file", dest="context_files", action="append", metavar="PATH", help="a file; at most 10"
    )
    review.add_argument("--thread", help="thread to continue")
    review.add_argument("--idempotency-key", metavar="KEY", help="the same key never makes a second job")
    review.add_argument("--webhook-url", metavar="URL", help="https address to call when it is done")
    pull = _command(
        commands, "pr", "Show the Vortex review of a pull request; JSON unless on a terminal.",
        "pr acme/shop#12 --pretty", "pr acme/shop 12 --wait --after-sha 1a2b3c4",
    )  # fmt: skip
    pull.add_argument("pull", nargs="+", metavar="owner/repo#n")
    pull.add_argument("--pretty", action="store_true", help="for people")
    pull.add_argument("--wait", action="store_true", help="until the review is done")
    pull.add_argument(
        "--after-sha", type=_hex(7), metavar="SHA", help="this head must be reviewed; with --wait"
    )
    pull.add_argument("--pass", dest="required_pass", type=_whole(1), metavar="N", help="exactly this pass")
    pull.add_argument("--after-pass", type=_whole(1), metavar="N", help="a later pass")
    pull.add_argument(
        "--timeout", type=_seconds(1), metavar="S", help="seconds to wait (default 480); implies --wait"
    )
    jobs = _command(commands, "jobs", "List the newest review jobs.", "jobs", "jobs 50 --json")
    jobs.add_argument("limit", nargs="?", default=None, type=_whole(1, 50), metavar="n")
    status = _command(
        commands,
        "status",
        "Show a review job; the newest unless one is named.",
        "status",
        "status <job id> --wait",
    )
    status.add_argument("job_id", nargs="?")
    status.add_argument("--wait", action="store_true", help="until it is done")
    status.add_argument(
        "--timeout", type=_seconds(1), metavar="S", help="seconds to wait (default 480); implies --wait"
    )
    dismiss = _command(
        commands, "dismiss", "Record that findings of a review are wrong. Start with --preview.",
        "dismiss acme/shop#12 --head <40 hex> --review 7 --preview",
        'dismiss acme/shop#12 --head <40 hex> --review 7 --finding 91 --reason "The index exists since 2024."',
    )  # fmt: skip
    dismiss.add_argument("pull", nargs="+", metavar="owner/repo#n")
    dismiss.add_argument(
        "--head", dest="head_sha", required=True, type=_hex(40), metavar="SHA",
        help="the live head of the pull request, 40 hex digits (head_sha of mg pr)",
    )  # fmt: skip
    dismiss.add_argument(
        "--review", dest="review_id", required=True, type=_whole(1), metavar="ID",
        help="number of a review made at that head, as GitHub or mg pr has it",
    )  # fmt: skip
    which = dismiss.add_mutually_exclusive_group()
    which.add_argument(
        "--finding",
        action="append",
        type=_names,
        metavar="ID",
        help="a finding that --preview lists; may be repeated, or with commas",
    )
    which.add_argument("--all", dest="every", action="store_true", help="every finding of the review")
    dismiss.add_argument("--reason", metavar="TEXT", help="why they are wrong, in 20 characters or more")
    dismiss.add_argument("--evidence", dest="evidence_url", metavar="URL", help="web address of the proof")
    dismiss.add_argument("--preview", action="store_true", help="list the findings and write nothing")


def _issues(commands: Any) -> None:
    issue = commands.add_parser(
        "issue", help="Open GitHub issues.", description="Open GitHub issues.",
        epilog='Examples:\n  mg issue create "Tide table is empty" --label bug',
    )  # fmt: skip
    below = issue.add_subparsers(required=True, metavar="<command>", parser_class=_Parser)
    create = _command(
        below, "create", "Open an issue through the Surge App; a title that is still open is not opened twice.",
        'issue create "Tide table is empty" --label bug', 'issue create "Slow start" --body - < notes.md',
        full="issue create",
    )  # fmt: skip
    create.add_argument("title")
    create.add_argument("--body", metavar="TEXT|-", help="Markdown; - reads the input")
    create.add_argument("--label", dest="labels", action="append", metavar="NAME", help="may be repeated")
    create.add_argument(
        "--repo", dest="repository", type=_repository, metavar="owner/repo", help="default: origin"
    )


def _stacks(commands: Any) -> None:
    queue = _command(
        commands,
        "queue",
        "List the merge queue, put a stack in it, or take one out.",
        "queue",
        "queue --stack <stack id> --json",
        "queue add <stack id>",
        "queue rm <entry or stack id>",
    )
    queue.add_argument(
        "verb", nargs="?", default=None, choices=("list", "add", "rm"), help="what to do (default list)"
    )
    queue.add_argument("target", nargs="?", help="stack id, or for rm also the id of an entry")
    queue.add_argument("--stack", dest="stack_id", type=_stack_id, metavar="ID", help="list only this stack")
    stack = commands.add_parser(
        "stack", help="Stacks of pull requests.", description="Stacks of pull requests.",
        epilog="Examples:\n  mg stack list\n  mg stack watch <stack id>",
    )  # fmt: skip
    below = stack.add_subparsers(required=True, metavar="<command>", parser_class=_Parser)
    _command(
        below,
        "list",
        "List the stacks of this account.",
        "stack list --json",
        full="stack list",
        aliases=("ls",),
    )
    adopt = _command(
        below, "adopt", "Register a chain of open pull requests as a stack.",
        "stack adopt acme/shop#12", "stack adopt acme/shop 12 --auto-land on", full="stack adopt",
    )  # fmt: skip
    adopt.add_argument("pull", nargs="+", metavar="owner/repo#n")
    _policy(adopt)
    for name, summary in (("status", "Show one stack now."), ("set", "Change the policy of a stack.")):
        made = _command(
            below, name, summary,
            f"stack {name} <stack id>" + (" --auto-land off --auto-patch default" if name == "set" else " --json"),
            full=f"stack {name}",
        )  # fmt: skip
        made.add_argument("stack_id", type=_stack_id)
        if name == "set":
            _policy(made)
    wait = _command(
        below, "wait", "Wait until a stack needs attention or ends; exit 5 when the time is up.",
        "stack wait <stack id> --timeout 300 --json", full="stack wait",
    )  # fmt: skip
    wait.add_argument("stack_id", type=_stack_id)
    wait.add_argument(
        "--timeout", type=_seconds(0, 300), metavar="S", help="0 to 300 (default 45); 0 looks once"
    )
    watch = _command(
        below, "watch", "Wait for hours; one MS-WATCH line says how it ended.",
        "stack watch <stack id>", "stack watch <stack id> --until landed --max 480 --ignore draft",
        full="stack watch",
    )  # fmt: skip
    watch.add_argument("stack_id", type=_stack_id)
    watch.add_argument(
        "--until", choices=("attention", "landed"), help="what ends the watch (default attention)"
    )
    watch.add_argument(
        "--ignore",
        action="append",
        metavar="TEXT",
        help="pass over the first attention with this text; repeatable",
    )
    watch.add_argument(
        "--max",
        dest="max_minutes",
        type=_minutes,
        metavar="M",
        help="give up after M minutes, with exit 5 (default: never)",
    )
    watch.add_argument(
        "--head", type=_hex(7, 40), metavar="SHA", help="the head you pushed, 7 to 40 hex digits"
    )
    publish = _command(
        below, "publish", "Publish this branch: commits, pull request and stack, without GitHub credentials.",
        "stack publish", 'stack publish --title "Tides" --auto-land off', full="stack publish",
    )  # fmt: skip
    state = _command(
        below, "publish-status", "How far a publication got.", "stack publish-status --json",
        full="stack publish-status",
    )  # fmt: skip
    for made in (publish, state):
        made.add_argument(
            "--repo", dest="repository", type=_repository, metavar="owner/repo", help="default: origin"
        )
        made.add_argument("--branch", help="default: the one checked out")
    publish.add_argument("--base", help="branch to merge into; default: the trunk")
    publish.add_argument("--title", help="default: from the newest commit")
    publish.add_argument(
        "--body", metavar="TEXT|-", help="default: from the newest commit; - reads the input"
    )
    publish.add_argument(
        "--replace-head",
        type=_hex(40),
        metavar="SHA",
        help="the branch's head on GitHub, 40 hex digits, if its other work may be dropped",
    )
    publish.add_argument("--auto-land", type=_on_off, metavar="on|off", help="default: on for a new stack")


def _policy(parser: _Parser) -> None:
    parser.add_argument("--auto-land", type=_on_off, metavar="on|off", help="Auto land.")
    for flag, text in STACK_POLICY.items():
        parser.add_argument(f"--{flag}", type=_on_off_default, metavar="on|off|default", help=text)


# -- values --------------------------------------------------------------------------------------------------------


def _on_off(text: str) -> bool:
    if text not in {"on", "off"}:
        raise argparse.ArgumentTypeError("must be on or off")
    return text == "on"


def _on_off_default(text: str) -> bool | None:
    if text not in {"on", "off", "default"}:
        raise argparse.ArgumentTypeError("must be on, off or default")
    return None if text == "default" else text == "on"


def _or_default(inner: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text == "default" else inner(text)


def _whole(low: int, high: int | None = None) -> Callable[[str], int]:
    wanted = f"must be a whole number of at least {low}" + (
        f" and at most {high}" if high is not None else ""
    )

    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,15}", text) else -1
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(wanted)
        return value

    return read


def _seconds(low: float, high: float = _MAX_WAIT) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = _number(text)
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be a number of seconds from {low:g} to {high:g}")
        return value

    return read


def _minutes(text: str) -> float:
    value = _number(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError("must be a number of minutes above 0")
    return value


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _hex(low: int, high: int = 40) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(rf"[0-9a-fA-F]{{{low},{high}}}", text):
            digits = f"{low}" if low == high else f"{low} to {high}"
            raise argparse.ArgumentTypeError(f"must be a commit id of {digits} hex digits")
        return text

    return read


def _names(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _repository(text: str) -> tuple[str, str]:
    if not _OWNER_REPO.fullmatch(text):
        raise argparse.ArgumentTypeError("must be owner/repo")
    owner, _, repo = text.partition("/")
    return owner, repo


def is_stack_id(text: str) -> bool:
    """Whether a text is a stack id: a UUID of version 1 to 5."""
    try:
        _stack_id(text)
    except argparse.ArgumentTypeError:
        return False
    return True


def _stack_id(text: str) -> str:
    try:
        wanted = uuid.UUID(text.strip())
    except ValueError:
        wanted = uuid.UUID(int=0)
    if wanted.version not in {1, 2, 3, 4, 5} or str(wanted) != text.strip().lower():
        raise argparse.ArgumentTypeError("must be a stack id (mg stack list names them)")
    return str(wanted)


def pull_request(words: Sequence[str]) -> tuple[str, str, int]:
    """Owner, repository and number of `owner/repo#n` or `owner/repo n`.

    Raises:
        ValueError: anything else.
    """
    place, number = words[0], words[1] if len(words) == 2 else ""
    if len(words) == 1:
        place, _, number = place.partition("#")
    if len(words) > 2 or not _OWNER_REPO.fullmatch(place) or not re.fullmatch(r"[1-9][0-9]{0,14}", number):
        raise ValueError("a pull request is named owner/repo#number")
    owner, _, repo = place.partition("/")
    return owner, repo, int(number)
