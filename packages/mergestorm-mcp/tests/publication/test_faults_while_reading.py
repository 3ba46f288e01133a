"""Whatever fails while a publication is read: all of it is sent, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from mcpkit.git import GitError, Repository
from mcpkit.git.process import Child
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication
from mergestorm_mcp.reviews.submit import ReviewRequest, prepare_submission

READERS: dict[str, Callable[[Environment], Any]] = {
    "publication": lambda environment: prepare_publication(environment, PublishRequest()).body,
    "review": lambda environment: prepare_submission(environment, ReviewRequest()).body,
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["git_failed", "timeout", "missing_object"])
def test_each_git_process_may_fail(
    checkout: Any, environment: Environment, monkeypatch: pytest.MonkeyPatch, reader: str, kind: Any
) -> None:
    checkout.commit({"a": b"1\n", "b": b"2\n"})
    wanted = READERS[reader](environment)
    real, started, failing = Child.__init__, 0, 0

    def start(child: Child, *arguments: Any, **options: Any) -> None:
        nonlocal started
        started += 1
        if started == failing:
            raise GitError(kind)
        real(child, *arguments, **options)

    monkeypatch.setattr(Child, "__init__", start)
    exit_codes: list[int] = []
    while True:
        failing, started = failing + 1, 0
        try:
            made = READERS[reader](environment)
        except CommandError as error:
            exit_codes.append(error.exit_code)
        else:
            assert made == wanted  # what failed was not needed for what is sent
        if started < failing:
            break
    assert len(exit_codes) > 5
    assert set(exit_codes) == {2}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make links")
def test_a_git_directory_exchanged_for_a_link_is_refused(
    checkout: Any,
    environment: Environment,
    folders: dict[str, str],
    make_checkout: Any,
    monkeypatch: pytest.MonkeyPatch,
    reader: str,
) -> None:
    other = make_checkout(folders["outside"])
    other.commit({"private.txt": b"private\n"})
    other.git("remote", "add", "origin", "git@github.com:kestrel-labs/private.git")
    other.git("checkout", "--quiet", "-b", "topic")
    other.commit({"private.txt": b"more of it\n"})
    checkout.commit({"a": b"1\n"})
    real, swapped = Repository.head, list[bool]()

    def swap(repository: Repository) -> Any:
        if not swapped:
            swapped.append(True)
            (checkout.path / ".git").rename(checkout.path / "moved")
            (checkout.path / ".git").symlink_to(other.path / ".git")
        return real(repository)

    monkeypatch.setattr(Repository, "head", swap)
    with pytest.raises(CommandError) as refused:
        READERS[reader](environment)
    assert refused.value.exit_code == 2
    assert swapped
