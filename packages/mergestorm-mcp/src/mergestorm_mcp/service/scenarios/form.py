"""What a scenario may say. Unknown keys are refused; every name that is used must be defined in the same file.

Times in `agents` and `knobs` are those of life; `--speed` shortens them.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from mergestorm_mcp.service.agents.script import AgentScript
from mergestorm_mcp.service.github.hub import Permission
from mergestorm_mcp.service.knobs import Kind
from mergestorm_mcp.service.settings.catalog import RepositorySettingsBody, SettingsBody

__all__ = ["Account", "Commit", "File", "Knob", "PullRequest", "RepositorySpec", "Scenario", "StackSpec"]

Login = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}$")]
FullName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$")
]
Branch = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$")]
Path = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\n]+$")]
Author = Annotated[str, StringConstraints(pattern=r"^[^<>\n]{1,100} <[^<>\n]{1,100}>$")]
Key = Annotated[str, StringConstraints(pattern=r"^msk_live_[A-Za-z0-9_-]{6,100}$")]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]

_BAD_PART: Final = re.compile(r"(?i)\.git|\.{0,2}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


def _account_settings(value: dict[str, Any]) -> dict[str, Any]:
    return _taken(SettingsBody, value, {})


def _repository_settings(value: dict[str, Any]) -> dict[str, Any]:
    return _taken(RepositorySettingsBody, value, {"owner": "x", "repo": "x"})


def _taken(model: type[BaseModel], value: dict[str, Any], filled: dict[str, Any]) -> dict[str, Any]:
    try:
        model.model_validate({**value, **filled})
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_input=False)
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg']}") from None
    return value


def _plain_path(path: str) -> str:
    if any(_BAD_PART.fullmatch(part) for part in path.split("/")):
        raise ValueError("a path has plain parts only, from the top of the repository")
    return path


class Account(_Strict):
    """Somebody with an API key.

    Attributes:
        login: GitHub login.
        name: what the account is called.
        key: a fixed key, for tests; a new random one by default.
        plan: key of the plan.
        credits_limit: review credits; null is no limit.
        bonus_credits: credits beyond them.
        github_connected: a GitHub account is linked.
        cyclone_connected: the patching App is connected.
        stacks_ready: Surge is set up.
        settings: account settings that differ from the defaults.
    """

    login: Login
    name: Line | None = None
    key: Key | None = None
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")] = "pro"
    credits_limit: Count | None = 100
    bonus_credits: Count = 0
    github_connected: bool = True
    cyclone_connected: bool = True
    stacks_ready: bool = True
    settings: Annotated[dict[str, Any], AfterValidator(_account_settings)] = Field(default_factory=dict)


class File(_Strict):
    """A file that is more than ordinary text."""

    text: Text
    mode: Literal["100644", "100755", "120000"] = "100644"


class Commit(_Strict):
    """One commit at the end of a branch.

    Attributes:
        branch: the branch; made by its first commit.
        start: where a new branch begins, by default at the end of the default branch; written `from`.
        message: of the commit.
        author: `Name <address>`.
        files: path to text, or to a file with a mode, or to null, which deletes it.
    """

    branch: Branch
    start: Branch | None = Field(default=None, alias="from")
    message: Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
    author: Author = "Rivka Stern <rivka@example.invalid>"
    files: dict[Annotated[Path, AfterValidator(_plain_path)], Text | File | None] = Field(
        default_factory=dict
    )


class PullRequest(_Strict):
    """An open pull request.

    Attributes:
        head: its branch.
        base: the default branch by default.
        title: its title.
        body: its body.
        draft: it is a draft.
        author: GitHub login of who opened it.
    """

    head: Branch
    base: Branch | None = None
    title: Line
    body: Text = ""
    draft: bool = False
    author: Login


class StackSpec(_Strict):
    """A stack: the pull request at its bottom and, onto it, one upon the other, those above.

    Attributes:
        account: login of its owner.
        head: branch of any of its pull requests.
        auto_land: Auto land is on.
        auto_patch: Cyclone patches findings; null follows the settings.
    """

    account: Login
    head: Branch
    auto_land: bool = True
    auto_patch: bool | None = None


class RepositorySpec(_Strict):
    """A repository with its history and what is open in it.

    Attributes:
        name: `owner/name`.
        private: only the people below see it.
        default_branch: the trunk.
        people: GitHub login to permission.
        surge: state of the Surge App: ready, read_only, absent.
        cyclone: state of the Cyclone App.
        labels: labels of issues.
        settings: repository settings, per login of an account.
        commits: the history, oldest first.
        pulls: open pull requests, in order of their numbers.
        stacks: registered stacks.
        agents: how the agents behave here.
    """

    name: FullName
    private: bool = False
    default_branch: Branch = "main"
    people: dict[Login, Permission] = Field(default_factory=dict)
    surge: Literal["ready", "read_only", "absent"] = "ready"
    cyclone: Literal["ready", "read_only", "absent"] = "ready"
    labels: Annotated[list[Line], Field(max_length=100)] = Field(default_factory=list)
    settings: dict[Login, Annotated[dict[str, Any], AfterValidator(_repository_settings)]] = Field(
        default_factory=dict
    )
    commits: Annotated[list[Commit], Field(min_length=1, max_length=200)]
    pulls: Annotated[list[PullRequest], Field(max_length=50)] = Field(default_factory=list)
    stacks: Annotated[list[StackSpec], Field(max_length=50)] = Field(default_factory=list)
    agents: AgentScript = AgentScript()

    @model_validator(mode="after")
    def _refers_to_what_is_there(self) -> Self:
        known: set[str] = set()
        for commit in self.commits:
            if commit.branch in known and commit.start is not None:
                raise ValueError(f"commits: the branch {commit.branch} begins twice")
            if commit.start is not None and commit.start not in known:
                raise ValueError(f"commits: {commit.branch} begins at {commit.start}, which is not there yet")
            if not known and commit.branch != self.default_branch:
                raise ValueError("commits: the first one is on the default branch")
            known.add(commit.branch)
        heads: set[str] = set()
        for pull in self.pulls:
            for branch in (pull.head, pull.base or self.default_branch):
                if branch not in known:
                    raise ValueError(f"pulls: there is no branch {branch}")
            if pull.head in heads or pull.head == (pull.base or self.default_branch):
                raise ValueError(f"pulls: {pull.head} cannot have this pull request")
            heads.add(pull.head)
        for stack in self.stacks:
            if stack.head not in heads:
                raise ValueError(f"stacks: {stack.head} has no pull request")
        return self


class Knob(_Strict):
    """Trouble: what happens to requests that match.

    Attributes:
        kind: `outage`, `rate_limit`, `latency` or `lost_answer`.
        method: HTTP method, `*` for any.
        path: of the request, `*` for any run of characters.
        times: for how many requests; without end by default.
        seconds: for how long.
        status: of an outage.
        retry_after_seconds: what the refusal says about asking again.
        retry_after_header: whether the header says it too, or the body only.
        latency_seconds: how long an answer is held back.
    """

    kind: Kind
    method: Annotated[str, StringConstraints(pattern=r"^(?:[A-Z]{1,10}|\*)$")] = "*"
    path: Annotated[str, StringConstraints(pattern=r"^/", max_length=500)] = "/api/*"
    times: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    seconds: Seconds | None = None
    status: Annotated[int, Field(ge=500, le=599)] | None = None
    retry_after_seconds: Seconds | None = None
    retry_after_header: bool = True
    latency_seconds: Annotated[float, Field(ge=0, le=60)] = 0.0


class Scenario(_Strict):
    """A whole scenario.

    Attributes:
        title: in a few words.
        about: what happens and what one can try.
        accounts: the first is the one whose key is shown.
        repositories: what is on GitHub.
        knobs: trouble from the beginning.
    """

    title: Line
    about: Text = ""
    accounts: Annotated[list[Account], Field(min_length=1, max_length=20)]
    repositories: Annotated[list[RepositorySpec], Field(max_length=20)] = Field(default_factory=list)
    knobs: Annotated[list[Knob], Field(max_length=50)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _refers_to_its_accounts(self) -> Self:
        logins = [account.login.lower() for account in self.accounts]
        if len(set(logins)) != len(logins):
            raise ValueError("accounts: a login is there twice")
        names = [repository.name.lower() for repository in self.repositories]
        if len(set(names)) != len(names):
            raise ValueError("repositories: a name is there twice")
        for repository in self.repositories:
            used = [*(stack.account for stack in repository.stacks), *repository.settings]
            for login in used:
                if login.lower() not in logins:
                    raise ValueError(f"repositories: {login} has no account")
        return self
