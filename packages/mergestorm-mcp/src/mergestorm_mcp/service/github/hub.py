"""All repositories of the GitHub side and the rows that belong to them.

Every method that reads or writes rows takes the connection of the caller's transaction. Times come in as ISO texts,
because rows keep them so.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcpkit.git import GitError
from mergestorm_mcp.service.github.bare import Bare

__all__ = ["App", "Check", "CheckStatus", "GitHubIssue", "GitHubRepository", "Hub", "Permission", "Pull"]

Permission = Literal["read", "write", "admin"]
CheckStatus = Literal["pending", "success", "failure", "neutral"]
App = Literal["surge", "cyclone"]

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_MAY_WRITE: Final = frozenset({"write", "admin"})


@dataclass(frozen=True, slots=True)
class GitHubRepository:
    """A repository's row."""

    id: int
    owner: str
    name: str
    default_branch: str
    path: str
    private: bool

    @property
    def full_name(self) -> str:
        """Owner and name."""
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request's row.

    Attributes:
        last_head: where its branch stood when it was closed or merged; None while it is open, ask git then.
        last_base: where its base stood just before the merge, the left side of the diff that it was.
        merge_sha: the commit on the base that brought it in.
    """

    repo_id: int
    number: int
    title: str
    body: str
    head_branch: str
    base_branch: str
    state: Literal["open", "closed", "merged"]
    draft: bool
    author_login: str
    created_at: str
    closed_at: str | None
    merged_at: str | None
    last_head: str | None
    last_base: str | None
    merge_sha: str | None

    @property
    def open(self) -> bool:
        """Neither closed nor merged."""
        return self.state == "open"


@dataclass(frozen=True, slots=True)
class GitHubIssue:
    """An issue's row."""

    repo_id: int
    number: int
    title: str
    body: str
    state: Literal["open", "closed"]
    labels: tuple[str, ...]
    author_login: str
    account_id: int | None
    created_at: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check run at a commit."""

    name: str
    status: CheckStatus
    started_at: str
    completed_at: str | None


class Hub:
    """The GitHub side.

    Args:
        root: directory that holds the bare repositories, `<owner>/<name>.git`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._opened: dict[str, Bare] = {}
        self._lock = threading.Lock()
        self._claimed: set[tuple[int, str]] = set()

    # Repositories

    def create_repository(
        self,
        connection: sqlite3.Connection,
        owner: str,
        name: str,
        *,
        default_branch: str = "main",
        private: bool = False,
    ) -> GitHubRepository:
        """Make an empty repository, on disk first.

        Raises:
            ValueError: a name that no repository can have, or one that is taken.
            GitError: git cannot make it.
        """
        for part in (owner, name):
            if not _NAME.fullmatch(part) or part.lower().endswith((".git", ".lock")):
                raise ValueError("this is not the name of an owner or a repository")
        if self.find_repository(connection, owner, name) is not None:
            raise ValueError("there is a repository of that name")
        path = f"{owner.lower()}/{name.lower()}.git"
        with self._lock:
            self._opened[path] = Bare.create(self.root / path, default_branch)
        connection.execute(
            "INSERT INTO repositories (owner, name, default_branch, path, private) VALUES (?, ?, ?, ?, ?)",
            (owner, name, default_branch, path, int(private)),
        )
        found = self.find_repository(connection, owner, name)
        assert found is not None  # noqa: S101 - inserted just now
        return found

    def find_repository(
        self, connection: sqlite3.Connection, owner: str, name: str
    ) -> GitHubRepository | None:
        """The repository of that name, whatever its case."""
        row = connection.execute(
            "SELECT * FROM repositories WHERE owner = ? AND name = ?", (owner, name)
        ).fetchone()
        return _repository(row) if row is not None else None

    def repository(self, connection: sqlite3.Connection, repo_id: int) -> GitHubRepository:
        """The repository with that id.

        Raises:
            LookupError: there is none.
        """
        row = connection.execute("SELECT * FROM repositories WHERE id = ?", (repo_id,)).fetchone()
        if row is None:
            raise LookupError("no such repository")
        return _repository(row)

    def repositories(self, connection: sqlite3.Connection) -> list[GitHubRepository]:
        """All repositories, by name."""
        rows = connection.execute("SELECT * FROM repositories ORDER BY owner, name")
        return [_repository(row) for row in rows]

    def git(self, repository: GitHubRepository) -> Bare:
        """Its git side.

        Raises:
            GitError: it is not there or cannot be read.
        """
        with self._lock:
            found = self._opened.get(repository.path)
            if found is None:
                found = self._opened[repository.path] = Bare(self.root / repository.path)
        if not (found.path / "HEAD").is_file():
            raise GitError("not_a_repository")
        return found

    @contextmanager
    def claim(self, repo_id: int, branch: str) -> Iterator[bool]:
        """Be the only one to write a branch while the context lasts; yields False if somebody else is."""
        mine = (repo_id, branch)
        with self._lock:
            free = mine not in self._claimed
            self._claimed.add(mine)
        try:
            yield free
        finally:
            if free:
                with self._lock:
                    self._claimed.discard(mine)

    # Permissions and Apps

    def set_permission(
        self, connection: sqlite3.Connection, repo_id: int, login: str, permission: Permission
    ) -> None:
        """Let a user read or write a repository."""
        connection.execute(
            "INSERT OR REPLACE INTO collaborators (repo_id, login, permission) VALUES (?, ?, ?)",
            (repo_id, login, permission),
        )

    def permission(
        self, connection: sqlite3.Connection, repository: GitHubRepository, login: str
    ) -> Permission | None:
        """What a user may do; everybody may read a public repository; None where even that is not allowed."""
        row = connection.execute(
            "SELECT permission FROM collaborators WHERE repo_id = ? AND login = ?", (repository.id, login)
        ).fetchone()
        if row is not None:
            given: Permission = row["permission"]
            return given
        return None if repository.private else "read"

    def may_write(self, connection: sqlite3.Connection, repository: GitHubRepository, login: str) -> bool:
        """Whether a user may push to a repository."""
        return self.permission(connection, repository, login) in _MAY_WRITE

    def install_app(
        self, connection: sqlite3.Connection, repo_id: int, app: App, *, may_write: bool = True
    ) -> None:
        """Install an App on a repository, with or without permission to write contents and pull requests."""
        connection.execute(
            "INSERT OR REPLACE INTO apps (repo_id, app, may_write) VALUES (?, ?, ?)",
            (repo_id, app, int(may_write)),
        )

    def uninstall_app(self, connection: sqlite3.Connection, repo_id: int, app: App) -> None:
        """Take an App off a repository."""
        connection.execute("DELETE FROM apps WHERE repo_id = ? AND app = ?", (repo_id, app))

    def app(
        self, connection: sqlite3.Connection, repo_id: int, app: App
    ) -> Literal["absent", "read_only", "ready"]:
        """What an App can do on a repository."""
        row = connection.execute(
            "SELECT may_write FROM apps WHERE repo_id = ? AND app = ?", (repo_id, app)
        ).fetchone()
        if row is None:
            return "absent"
        return "ready" if row["may_write"] else "read_only"

    # Pull requests

    def open_pull(
        self,
        connection: sqlite3.Connection,
        repo_id: int,
        *,
        title: str,
        body: str,
        head: str,
        base: str,
        author: str,
        at: str,
        draft: bool = False,
    ) -> Pull:
        """Open a pull request.

        Raises:
            sqlite3.IntegrityError: one from this head onto this base is open already.
        """
        number = self._next_number(connection, repo_id)
        connection.execute(
            "INSERT INTO pulls (repo_id, number, title, body, head_branch, base_branch, draft, author_login, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (repo_id, number, title, body, head, base, int(draft), author, at),
        )
        found = self.pull(connection, repo_id, number)
        assert found is not None  # noqa: S101 - inserted just now
        return found

    def pull(self, connection: sqlite3.Connection, repo_id: int, number: int) -> Pull | None:
        """The pull request of that number."""
        row = connection.execute(
            "SELECT * FROM pulls WHERE repo_id = ? AND number = ?", (repo_id, number)
        ).fetchone()
        return _pull(row) if row is not None else None

    def pulls(
        self,
        connection: sqlite3.Connection,
        repo_id: int,
        *,
        head: str | None = None,
        base: str | None = None,
        state: str | None = None,
    ) -> list[Pull]:
        """Pull requests that match everything given, oldest first."""
        wanted = {"head_branch": head, "base_branch": base, "state": state}
        given = {column: value for column, value in wanted.items() if value is not None}
        conditions = "".join(f" AND {column} = ?" for column in given)
        rows = connection.execute(
            f"SELECT * FROM pulls WHERE repo_id = ?{conditions} ORDER BY number",  # noqa: S608 - columns named here
            (repo_id, *given.values()),
        )
        return [_pull(row) for row in rows]

    def find_open_pull(self, connection: sqlite3.Connection, repo_id: int, head: str) -> Pull | None:
        """The open pull request of a branch, the oldest if there are several."""
        return next(iter(self.pulls(connection, repo_id, head=head, state="open")), None)

    def find_merged_pull(
        self, connection: sqlite3.Connection, repo_id: int, head: str, commit: str
    ) -> Pull | None:
        """The pull request of a branch that merged exactly this commit, the newest if there are several."""
        merged = self.pulls(connection, repo_id, head=head, state="merged")
        return next((pull for pull in reversed(merged) if pull.last_head == commit), None)

    def retarget(self, connection: sqlite3.Connection, repo_id: int, number: int, base: str) -> None:
        """Give an open pull request another base."""
        connection.execute(
            "UPDATE pulls SET base_branch = ? WHERE repo_id = ? AND number = ? AND state = 'open'",
            (base, repo_id, number),
        )

    def set_draft(self, connection: sqlite3.Connection, repo_id: int, number: int, *, draft: bool) -> None:
        """Make a pull request a draft, or ready."""
        connection.execute(
            "UPDATE pulls SET draft = ? WHERE repo_id = ? AND number = ?", (int(draft), repo_id, number)
        )

    def close_pull(
        self, connection: sqlite3.Connection, repo_id: int, number: int, *, at: str, head: str | None
    ) -> None:
        """Close an open pull request without merging it."""
        connection.execute(
            "UPDATE pulls SET state = 'closed', closed_at = ?, last_head = ?"
            " WHERE repo_id = ? AND number = ? AND state = 'open'",
            (at, head, repo_id, number),
        )

    def mark_merged(
        self,
        connection: sqlite3.Connection,
        repo_id: int,
        number: int,
        *,
        at: str,
        head: str,
        base: str | None,
        merge_sha: str,
    ) -> None:
        """Record, after git has it, that an open pull request was merged.

        `head` is the commit of its branch that was merged, `base` where its base stood before, `merge_sha` the commit
        on the base that brought it in.
        """
        connection.execute(
            "UPDATE pulls SET state = 'merged', closed_at = ?, merged_at = ?, last_head = ?, last_base = ?, merge_sha = ?"
            " WHERE repo_id = ? AND number = ? AND state = 'open'",
            (at, at, head, base, merge_sha, repo_id, number),
        )

    def pull_url(self, repository: GitHubRepository, number: int) -> str:
        """The address a pull request has on GitHub."""
        return f"https://github.com/{repository.full_name}/pull/{number}"

    def issue_url(self, repository: GitHubRepository, number: int) -> str:
        """The address an issue has on GitHub."""
        return f"https://github.com/{repository.full_name}/issues/{number}"

    # Issues and labels

    def add_labels(self, connection: sqlite3.Connection, repo_id: int, names: Iterable[str]) -> None:
        """Make labels; those that exist stay."""
        connection.executemany(
            "INSERT OR IGNORE INTO labels (repo_id, name) VALUES (?, ?)", [(repo_id, name) for name in names]
        )

    def labels(self, connection: sqlite3.Connection, repo_id: int) -> list[str]:
        """Names of a repository's labels."""
        rows = connection.execute("SELECT name FROM labels WHERE repo_id = ? ORDER BY name", (repo_id,))
        return [row["name"] for row in rows]

    def open_issue(
        self,
        connection: sqlite3.Connection,
        repo_id: int,
        *,
        title: str,
        body: str,
        labels: Sequence[str],
        author: str,
        account_id: int | None,
        at: str,
    ) -> GitHubIssue:
        """Open an issue. Its number comes from the same row of numbers as those of pull requests."""
        number = self._next_number(connection, repo_id)
        connection.execute(
            "INSERT INTO issues (repo_id, number, title, body, labels_json, author_login, account_id, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (repo_id, number, title, body, json.dumps(list(labels)), author, account_id, at),
        )
        found = self.issue(connection, repo_id, number)
        assert found is not None  # noqa: S101 - inserted just now
        return found

    def issue(self, connection: sqlite3.Connection, repo_id: int, number: int) -> GitHubIssue | None:
        """The issue of that number."""
        row = connection.execute(
            "SELECT * FROM issues WHERE repo_id = ? AND number = ?", (repo_id, number)
        ).fetchone()
        return _issue(row) if row is not None else None

    def find_open_issue(
        self, connection: sqlite3.Connection, repo_id: int, title: str, *, account_id: int | None = None
    ) -> GitHubIssue | None:
        """The oldest open issue of a title, of one account where one is given."""
        rows = connection.execute(
            "SELECT * FROM issues WHERE repo_id = ? AND title = ? AND state = 'open' ORDER BY number",
            (repo_id, title),
        )
        return next(
            (_issue(row) for row in rows if account_id is None or row["account_id"] == account_id), None
        )

    def close_issue(self, connection: sqlite3.Connection, repo_id: int, number: int) -> None:
        """Close an issue."""
        connection.execute(
            "UPDATE issues SET state = 'closed' WHERE repo_id = ? AND number = ?", (repo_id, number)
        )

    # Checks

    def set_check(
        self, connection: sqlite3.Connection, repo_id: int, sha: str, name: str, status: CheckStatus, at: str
    ) -> None:
        """Start (`pending`) or finish a check at a commit; starting one again forgets its result."""
        completed = None if status == "pending" else at
        connection.execute(
            "INSERT INTO checks (repo_id, sha, name, status, started_at, completed_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (repo_id, sha, name) DO UPDATE SET status = excluded.status,"
            " completed_at = excluded.completed_at,"
            " started_at = CASE excluded.status WHEN 'pending' THEN excluded.started_at ELSE started_at END",
            (repo_id, sha, name, status, at, completed),
        )

    def checks(self, connection: sqlite3.Connection, repo_id: int, sha: str) -> list[Check]:
        """Checks at a commit, by name."""
        rows = connection.execute(
            "SELECT * FROM checks WHERE repo_id = ? AND sha = ? ORDER BY name", (repo_id, sha)
        )
        return [Check(row["name"], row["status"], row["started_at"], row["completed_at"]) for row in rows]

    def _next_number(self, connection: sqlite3.Connection, repo_id: int) -> int:
        row = connection.execute(
            "UPDATE repositories SET next_number = next_number + 1 WHERE id = ? RETURNING next_number - 1 AS number",
            (repo_id,),
        ).fetchone()
        if row is None:
            raise LookupError("no such repository")
        return int(row["number"])


def _repository(row: sqlite3.Row) -> GitHubRepository:
    return GitHubRepository(
        row["id"], row["owner"], row["name"], row["default_branch"], row["path"], bool(row["private"])
    )


def _pull(row: sqlite3.Row) -> Pull:
    return Pull(**{**dict(row), "draft": bool(row["draft"])})


def _issue(row: sqlite3.Row) -> GitHubIssue:
    return GitHubIssue(
        repo_id=row["repo_id"],
        number=row["number"],
        title=row["title"],
        body=row["body"],
        state=row["state"],
        labels=tuple(json.loads(row["labels_json"])),
        author_login=row["author_login"],
        account_id=row["account_id"],
        created_at=row["created_at"],
    )
