"""What can be said on the command line, and the help texts.

Global flags may stand before the command or after it. Every help text ends in examples that run as they are in the
service catalogue that comes with the project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final, NoReturn

from mergeway_mcp import __version__

from .answers import UsageError

PROGRAM: Final = "mergeway-cli"

#: The commands, as they are spelled.
COMMANDS: Final = (
    "validate",
    "entity list",
    "entity show",
    "list",
    "get",
    "export",
    "files",
    "config lint",
    "version",
)


class Options(argparse.Namespace):
    """A command line that was understood.

    Attributes:
        command: One of `COMMANDS`.
        root: Folder of the repository.
        config: Entry file, or None.
        format: `yaml`, `json`, `table`, or None to choose by where the output goes; not checked yet.
        fail_fast: Stop at the first finding.
        phase: Phases asked for.
        type: Entity named with `--type`, or None.
        name: Entity to show.
        id: Identifier to get.
        names: Entities to export.
        filter: `key=value` conditions.
        output: File to export to, or None.
        group: List files by entity.
    """

    command: str
    root: str
    config: str | None
    format: str | None
    fail_fast: bool
    phase: list[str]
    type: str | None
    name: str
    id: str
    names: list[str]
    filter: list[str]
    output: str | None
    group: bool


class Answered(Exception):
    """Help or the version was asked for.

    Attributes:
        text: What to print.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and leaving."""

    def __init__(self, **settings: object) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]  # passed through
        self.color = False  # Python 3.14 would colour help texts, which have to be the same everywhere

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def print_help(self, file: object = None) -> NoReturn:
        raise Answered(self.format_help())


def parse(arguments: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        Answered: Help or the version was asked for.
        UsageError: It is wrong.
    """
    options = build_parser().parse_args(arguments, Options())
    if options.command == "version":
        raise Answered(f"{PROGRAM} {__version__}\n")
    for condition in options.filter:
        if not condition.partition("=")[0] or "=" not in condition:
            raise UsageError(f"--filter takes key=value; see {PROGRAM} list --help")
    return options


class _Version(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        raise Answered(f"{PROGRAM} {__version__}\n")


def build_parser() -> _Parser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog=PROGRAM,
        description="Validate a repository of schema-checked records and look at what is in it.",
        epilog=_examples(
            "validate", "list --type Service", "get payments --type Service", "export --output all.json"
        ),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    _add_globals(parser, first=True)
    parser.set_defaults(phase=[], type=None, names=[], filter=[], output=None, group=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_validate(commands)
    entity = _group(commands, "entity", "list the entities, or show one")
    _add(entity, "entity list", "name the entities there are", ["entity list"])
    show = _add(
        entity,
        "entity show",
        "show how an entity is declared",
        ["entity show Service", "--format json entity show Team"],
        detail="Inherited fields are included. Records are not read, so this works while some are broken.",
    )
    show.add_argument("name", metavar="NAME", help="entity")
    _add_list(commands)
    _add_get(commands)
    _add_export(commands)
    _add_files(commands)
    config = _group(commands, "config", "check the configuration")
    _add(
        config,
        "config lint",
        "look for mistakes that loading the configuration does not reveal",
        ["config lint"],
        detail="Errors (patterns, selectors and includes that cannot be read, defaults that do not fit) exit 1.\n"
        "Warnings (what has no effect or was probably not meant) exit 0.",
    )
    _add(commands, "version", "print the version", ["version"])
    return parser


_Commands = argparse._SubParsersAction  # argparse has no public name for what add_subparsers returns


def _add_validate(commands: _Commands[_Parser]) -> None:
    validate = _add(
        commands,
        "validate",
        "check every record and report what is wrong",
        ["validate", "validate --phase format --phase schema", "--format json --fail-fast validate"],
        detail="Phases: format (files can be read as records), schema (identifiers and fields are as declared),\n"
        "references (every reference leads to exactly one record). A phase that finds something is the last\n"
        "to run. Exit 0 when nothing was found, 1 otherwise.",
    )
    validate.add_argument(
        "--phase",
        action="append",
        choices=["format", "schema", "references"],
        default=argparse.SUPPRESS,
        help="report this phase only; may be repeated (references adds schema)",
    )


def _add_list(commands: _Commands[_Parser]) -> None:
    parser = _add(
        commands,
        "list",
        "list the ids of an entity's records",
        ["list --type Service", "list --type Component --filter tier=critical --filter area=checkout"],
        detail="Records of entities that extend the given one are included.",
    )
    _add_type(parser, required=True)
    parser.add_argument(
        "--filter",
        action="append",
        metavar="KEY=VALUE",
        default=argparse.SUPPRESS,
        help="only records whose field KEY reads VALUE, or holds it if it is a list; KEY may lead into objects "
        "(a.b); an empty VALUE asks for records without the field; may be repeated",
    )


def _add_get(commands: _Commands[_Parser]) -> None:
    parser = _add(
        commands,
        "get",
        "show one record",
        [
            "get payments --type Service",
            "--format json get runbooks/checkout/ledger-full.yaml --type Runbook",
        ],
        detail="Records of entities that extend the given one are found as well.",
    )
    parser.add_argument("id", metavar="ID", help="identifier of the record")
    _add_type(parser, required=True)


def _add_export(commands: _Commands[_Parser]) -> None:
    parser = _add(
        commands,
        "export",
        "write the fields of all records as one document",
        [
            "export Team Person",
            "export --output catalogue.json",
            "--format yaml export Service --output services.yaml",
        ],
        detail="Under each entity stand its own records and those of entities that extend it, by id.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", default=[], help="entity (default: all)")
    parser.add_argument(
        "--output",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="write to this file, all or nothing; its ending decides between JSON (.json) and YAML unless --format does",
    )


def _add_files(commands: _Commands[_Parser]) -> None:
    parser = _add(
        commands,
        "files",
        "list the YAML and JSON files that hold records",
        ["files", "files --type Runbook", "files --group"],
    )
    _add_type(parser, required=False)
    parser.add_argument(
        "--group", action="store_true", default=argparse.SUPPRESS, help="group the files by entity"
    )


def _add_type(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--type", metavar="NAME", required=required, default=argparse.SUPPRESS, help="entity")


def _group(commands: _Commands[_Parser], name: str, summary: str) -> _Commands[_Parser]:
    parser = commands.add_parser(name, help=summary, description=_sentence(summary))
    _add_globals(parser)
    return parser.add_subparsers(metavar="COMMAND", required=True, title="commands")


def _add(
    commands: _Commands[_Parser],
    command: str,
    summary: str,
    examples: Sequence[str],
    *,
    detail: str = "",
) -> _Parser:
    parser = commands.add_parser(
        command.rpartition(" ")[2],
        help=summary,
        description="\n\n".join(filter(None, (_sentence(summary), detail))),
        epilog=_examples(*examples),
    )
    parser.set_defaults(command=command)
    _add_globals(parser)
    return parser


def _add_globals(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """Add the global flags; behind the command they only count when given, so as not to undo those before it."""
    flags = parser.add_argument_group("global flags")

    def default(value: object) -> object:
        return value if first else argparse.SUPPRESS

    flags.add_argument(
        "--root", metavar="DIR", default=default("."), help="folder of the repository (default: .)"
    )
    flags.add_argument(
        "--config",
        metavar="FILE",
        default=default(None),
        help="entry file (default: mergeway.yaml in the root, else mergeway.yml)",
    )
    flags.add_argument(
        "--format",
        metavar="FORMAT",
        default=default(None),
        help="yaml, json or table (default: table on a terminal, yaml elsewhere)",
    )
    flags.add_argument(
        "--fail-fast", action="store_true", default=default(False), help="validate: stop at the first finding"
    )


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _examples(*lines: str) -> str:
    return "\n".join(("examples:", *(f"  {PROGRAM} {line}" for line in lines)))
