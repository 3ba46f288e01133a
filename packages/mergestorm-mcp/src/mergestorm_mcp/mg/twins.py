"""Commands that are a tool of the server by another name.

They do what the tool does, so that a command line reads the same values, answers with the same document and refuses
alike; what is of their own is the view for people and the exit code. Commands about stacks and the queue call what the
tool calls, in `mergestorm_mcp.stacks`. The others run the very tool and load the server framework for it, which costs
them a moment.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Final

from mergestorm_mcp.answers import Answer, named, thrown
from mergestorm_mcp.errors import EXIT_FAILED, EXIT_GENERIC, CommandError, usage
from mergestorm_mcp.mg.outcome import Call, Outcome, exit_code_of
from mergestorm_mcp.mg.parser import SETTINGS_CHOICES, SETTINGS_SWITCHES, pull_request
from mergestorm_mcp.mg.terminal import Terminal
from mergestorm_mcp.mg.words import in_commands, refusal
from mergestorm_mcp.text import one_line

__all__ = ["COMMANDS", "queue_list"]

_MAX_BODY: Final = 65_536
_POLICY: Final = ("auto_land", "auto_review", "auto_patch", "auto_resolve_conflicts", "auto_fix_ci")
_SETTINGS: Final = (
    *(name for name, _ in SETTINGS_SWITCHES.values()),
    *(name for name, _, _ in SETTINGS_CHOICES.values()),
    "auto_land_settle_seconds",
    "merge_queue_batch_size",
)
_REPO_SETTINGS: Final = (
    "auto_patch",
    "auto_review",
    "auto_land",
    "merge_queue_batch",
    "merge_queue_overdrive",
    "merge_queue_batch_size",
    "merge_queue_lands_alone_paths",
)

Data = Mapping[str, Any]
View = Callable[[Terminal, Data], None]


async def whoami(call: Call) -> Outcome:
    """The account behind the key."""

    def show(terminal: Terminal, data: Data) -> None:
        terminal.pairs({name: data[name] for name in data if name != "usage"})

    return await _tool(call, "account", "whoami", {}, show)


async def credits_left(call: Call) -> Outcome:
    """Credits used and left."""
    return await _tool(call, "account", "credits", {})


async def jobs(call: Call) -> Outcome:
    """The newest review jobs."""

    def show(terminal: Terminal, data: Data) -> None:
        if not data["items"]:
            terminal.line("No review jobs")
            return
        rows = [
            (item["job_id"], item["status"], item["verdict"], item["base_label"], item["head_label"],
             _minute(item["created_at"], terminal))
            for item in data["items"]
        ]  # fmt: skip
        terminal.table(("job", "status", "verdict", "base", "head", "created"), rows)

    return await _tool(call, "reviews_read", "review_list", call.only("limit"), show)


def _minute(time: Any, terminal: Terminal) -> Any:
    """A time to the minute where a person reads it, which leaves room for the rest; as it is elsewhere."""
    return time[:16].replace("T", " ") if terminal.interactive and isinstance(time, str) else time


async def dismiss(call: Call) -> Outcome:
    """Dismiss findings, or preview what could be dismissed."""
    owner, repo, number = _pull(call)
    named = [item for group in call.values.get("finding", ()) for item in group]
    request = {"owner": owner, "repo": repo, "pr_number": number}
    request |= call.only("head_sha", "review_id", "reason", "evidence_url", "preview")
    if named:
        request |= {"finding_ids": named, "scope": "findings"}
    elif call.values.get("every"):
        request["scope"] = "review"
    elif not call.values.get("preview"):
        raise usage("Name findings with --finding, or pass --all; --preview lists them.")
    return await _tool(call, "dismiss", "review_dismiss", request, refused=EXIT_FAILED)


async def issue_create(call: Call) -> Outcome:
    """Open an issue."""
    request = {**call.only("title", "labels"), **_body(call), **_repository(call)}
    return await _tool(call, "issues", "issue_create", request)


# -- settings ------------------------------------------------------------------------------------------------------


async def settings(call: Call) -> Outcome:
    """Show the account's settings, or change those that were named."""
    changes = call.only(*_SETTINGS)
    edits = call.values.get("ignore_bot")
    if edits:
        bots = _bot_edits(edits)
        if bots and bots[0][0] == "clear":
            stored: list[str] = []
        else:
            from mergestorm_mcp.api.settings import read_settings

            listed = (await read_settings(call.runtime.api())).get("ignored_bot_logins")
            stored = [str(item) for item in listed] if isinstance(listed, list) else []
        changes["ignored_bot_logins"] = _edited(stored, bots)
    return await _tool(
        call, "settings", "settings_set" if changes else "settings_get", changes, _show_settings
    )


def _bot_edits(edits: list[list[str]]) -> list[tuple[str, str]]:
    found = []
    for words in edits:
        verb, logins = words[0], words[1:]
        if verb == "clear" and not logins:
            found.append(("clear", ""))
        elif verb in {"add", "remove"} and logins:
            found += [(verb, login.strip()) for login in logins]
        else:
            raise usage("--ignore-bot takes: add LOGIN, remove LOGIN, or clear.")
    return found


def _edited(stored: list[str], edits: list[tuple[str, str]]) -> list[str]:
    logins = list(stored)
    for verb, login in edits:
        logins = [] if verb == "clear" else [item for item in logins if item.casefold() != login.casefold()]
        if verb == "add":
            logins.append(login)
    return logins


def _show_settings(terminal: Terminal, data: Data) -> None:
    terminal.pairs(data)


async def repo_settings(call: Call) -> Outcome:
    """Show settings of repositories, or change those of one."""
    changes = call.only(*_REPO_SETTINGS)
    alone = changes.get("merge_queue_lands_alone_paths")
    if alone is not None and None in alone:
        if len(alone) > 1:
            raise usage("--lands-alone takes paths, or default alone.")
        changes["merge_queue_lands_alone_paths"] = None
    where = _repository(call)
    if changes and not where:
        raise usage("Name the repository whose settings are to change: mg repo-settings owner/repo …")
    if changes:
        return await _tool(call, "settings", "repo_settings_set", {**where, **changes}, _show_settings)

    def show(terminal: Terminal, data: Data) -> None:
        found = [item for item in data["repositories"] if isinstance(item, dict)]
        if not found:
            terminal.line("No connected repositories")
        elif len(found) == 1:
            terminal.pairs(found[0])
        else:
            names = ("auto_review_enabled", "auto_patch_enabled", "auto_land_default")
            rows = [
                (f"{item.get('owner')}/{item.get('repo')}", *(_or_account(item.get(name)) for name in names))
                for item in found
            ]
            terminal.table(("repository", "auto-review", "auto-patch", "auto-land"), rows)

    return await _tool(call, "settings", "repo_settings_get", where, show)


def _or_account(value: Any) -> Any:
    return "account" if value is None else value


# -- stacks --------------------------------------------------------------------------------------------------------


async def queue_list(call: Call) -> Outcome:
    """The merge queue."""

    def show(terminal: Terminal, data: Data) -> None:
        from mergestorm_mcp.stacks.model import read_entries

        entries = read_entries(data["entries"])
        if not entries:
            terminal.line("No merge queue entries (live or bounced)")
            return
        rows = []
        for entry in entries:
            bounce = entry.bounce
            reason = (bounce.kind if bounce is not None else None) or entry.bounce_reason or entry.wait_reason
            number = f"#{bounce.pr_number}" if bounce is not None and bounce.pr_number else ""
            head = (bounce.head_sha if bounce is not None else None) or entry.verify_head_sha
            place = f"{entry.owner or '?'}/{entry.repo or '?'}{number}"
            rows.append((entry.state, place, entry.stack_id, reason, head[:12] if head else None))
        terminal.table(("state", "repository", "stack", "reason", "head"), rows)

    from mergestorm_mcp.stacks.reading import list_queue as listed

    return _outcome(await _settled(listed(call.runtime, call.values.get("stack_id"))), show)


async def stack_list(call: Call) -> Outcome:
    """The account's stacks."""

    def show(terminal: Terminal, data: Data) -> None:
        from mergestorm_mcp.stacks.model import Stack

        if not data["stacks"]:
            terminal.line("No stacks")
            return
        rows = []
        for raw in data["stacks"]:
            stack = Stack.read(raw)
            state = ", ".join(dict.fromkeys(layer.state or "unknown" for layer in stack.layers if layer.open))
            if not state and stack.unit is not None:
                state = stack.unit.state or "unknown"
            if not state:  # nothing is open any more: merged, closed
                state = ", ".join(dict.fromkeys(layer.state for layer in stack.layers if layer.state))
            rows.append((stack.id, stack.repository, len(stack.layers), state or "-", bool(stack.auto_land)))
        terminal.table(("stack", "repository", "layers", "state", "auto-land"), rows)

    from mergestorm_mcp.stacks.reading import list_stacks

    return _outcome(await _settled(list_stacks(call.runtime)), show)


async def stack_adopt(call: Call) -> Outcome:
    """Register a chain of pull requests."""
    owner, repo, number = _pull(call)
    from mergestorm_mcp.stacks.changing import adopt_stack

    return _outcome(await _settled(adopt_stack(call.runtime, owner, repo, number, call.only(*_POLICY))))


async def stack_status(call: Call) -> Outcome:
    """One stack now."""

    def show(terminal: Terminal, data: Data) -> None:
        from mergestorm_mcp.stacks.lines import blockers_summary, repair_line, stack_line
        from mergestorm_mcp.stacks.model import Stack

        stack = Stack.read(data["stack"])
        terminal.line(stack_line(stack, blockers_summary(data)))
        rows = [
            (f"#{layer.pr_number}" if layer.pr_number else "-", layer.branch, layer.state, layer.ci_status,
             layer.review_status)
            for layer in stack.layers
        ]  # fmt: skip
        if rows:
            terminal.table(("pr", "branch", "state", "ci", "review"), rows)
        repair = repair_line(data["repair"])
        if repair is not None:
            terminal.line(in_commands(repair))
            if data["repair"].get("findings") and data["repair"].get("prNumber"):
                place = shlex.quote(one_line(stack.repository, 200))
                terminal.line(f"Findings: mg pr {place}#{data['repair']['prNumber']} --pretty")

    from mergestorm_mcp.stacks.reading import stack_status as status_now

    return _outcome(await _settled(status_now(call.runtime, call.values["stack_id"])), show)


async def stack_set(call: Call) -> Outcome:
    """Change the policy of a stack."""
    policy = call.only(*_POLICY)
    if not policy:
        raise usage("Nothing to set; pass at least one of --auto-land, --auto-review, --auto-patch, "
                    "--auto-resolve-conflicts, --auto-fix-ci.")  # fmt: skip
    from mergestorm_mcp.stacks.changing import set_stack

    return _outcome(await _settled(set_stack(call.runtime, call.values["stack_id"], policy)))


async def stack_publish(call: Call) -> Outcome:
    """Publish the branch."""
    request = {
        **call.only("branch", "base", "title", "replace_head", "auto_land"),
        **_body(call),
        **_repository(call),
    }
    with call.terminal.waiting("Publishing"):
        return await _tool(call, "publication", "stack_publish", request)


async def stack_publish_status(call: Call) -> Outcome:
    """How far a publication got."""
    return await _tool(
        call, "publication", "stack_publish_status", {**call.only("branch"), **_repository(call)}
    )


COMMANDS: Final[Mapping[str, Callable[[Call], Awaitable[Outcome]]]] = {
    "whoami": whoami,
    "credits": credits_left,
    "jobs": jobs,
    "dismiss": dismiss,
    "issue create": issue_create,
    "settings": settings,
    "repo-settings": repo_settings,
    "stack list": stack_list,
    "stack adopt": stack_adopt,
    "stack status": stack_status,
    "stack set": stack_set,
    "stack publish": stack_publish,
    "stack publish-status": stack_publish_status,
}


# -- running a tool ------------------------------------------------------------------------------------------------


async def _tool(
    call: Call,
    module: str,
    name: str,
    arguments: Mapping[str, Any],
    show: View | None = None,
    *,
    refused: int = EXIT_GENERIC,
) -> Outcome:
    """Run a tool and make its result an outcome.

    Args:
        call: the command.
        module: of `mergestorm_mcp.tools`.
        name: of the tool.
        arguments: for it.
        show: prints its data for people; its own summary unless given.
        refused: exit code of a refusal that names none.
    """
    offered = import_module(f"mergestorm_mcp.tools.{module}").tools(call.runtime)
    tool = next(item for item in offered if item.name == name)
    result = await tool.run(dict(arguments))
    answer = Answer(result.content[0].text, result.structured_content or {}, failed=result.is_error)
    return _outcome(answer, show, refused=refused)


async def _settled(answer: Awaitable[Answer]) -> Answer:
    """An operation's answer, its expected error in the form that the tool of the same name gives it."""
    try:
        return await answer
    except CommandError as error:
        return thrown(error)


def _outcome(answer: Answer, show: View | None = None, *, refused: int = EXIT_GENERIC) -> Outcome:
    data = answer.data
    if answer.failed:
        code = exit_code_of(data.get("error", {}), refused)
        told = _refused(answer.summary, data.get("error", {}))
        return Outcome(data, lambda terminal: terminal.note(f"mg: {told}"), code)
    summary = in_commands(_for_people(answer.summary, data))
    if show is None:
        return Outcome(data, lambda terminal: terminal.line(summary))
    return Outcome(data, lambda terminal: show(terminal, data))


def _refused(summary: str, error: Data) -> str:
    """A tool's failure in the words of every other failure of `mg`; what follows its sentence is kept."""
    code, reason, message = error.get("code"), error.get("reason"), str(error.get("message") or "")
    sentence = named(code, reason, message)
    if not message or sentence not in summary:
        return in_commands(summary)
    before, _, after = summary.partition(sentence)
    return f"{in_commands(before)}{refusal(message, code, reason)}{in_commands(after)}"


def _for_people(summary: str, data: Data) -> str:
    """A tool's summary without the watch contract, which is for agents: people have `mg stack watch`."""
    watch = data.get("watch")
    message = watch.get("message") if isinstance(watch, dict) else None
    if not isinstance(message, str) or not summary.startswith(message):
        return summary
    rest = summary.removeprefix(message).strip()
    following = watch.get("next") if isinstance(watch, dict) else None
    command = following.get("background") if isinstance(following, dict) else None
    return f"{rest}\nWatch it: {command}" if command else rest


def _pull(call: Call) -> tuple[str, str, int]:
    try:
        return pull_request(call.values["pull"])
    except ValueError:
        raise usage("Name the pull request as owner/repo#number.") from None


def _repository(call: Call) -> dict[str, str]:
    found = call.values.get("repository")
    return {} if found is None else {"owner": found[0], "repo": found[1]}


def _body(call: Call) -> dict[str, str]:
    body = call.values.get("body")
    return {} if body is None else {"body": call.terminal.text_or_input(body, _MAX_BODY)}
