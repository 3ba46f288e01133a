"""What stands for GitHub in these tests: a bare repository in which a publication is built again, object by object."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit.git import Repository, parse_commit
from mcpkit.git.writing import TreeFile, Writer


class Rebuilt:
    """A publication's commits, built again from its request alone.

    Attributes:
        commits: ids in the bare repository, oldest first.
        trees: their trees.
    """

    def __init__(self, bare: Repository, body: dict[str, Any]) -> None:
        writer = Writer(bare)
        for oid, blob in body["blobs"].items():
            data = base64.b64decode(blob["base64"], validate=True)
            assert len(data) == blob["size"]
            assert writer.write_blob(data) == oid
        self.commits: list[str] = []
        self.trees: list[str] = []
        parent = before = body["base_sha"]
        for commit in body["commits"]:
            assert commit["parent"] == before
            tree = self._tree(bare, writer, parent, commit["changes"])
            raw = base64.b64decode(commit["raw_base64"], validate=True)
            _agree(raw, commit)
            raw = raw.replace(b"parent " + before.encode(), b"parent " + parent.encode(), 1)
            before, parent = commit["sha"], writer.write_commit(raw)
            self.commits.append(parent)
            self.trees.append(tree)
        assert body["head_sha"] == before
        assert body["tree_sha"] == body["commits"][-1]["tree"]

    @staticmethod
    def _tree(bare: Repository, writer: Writer, parent: str, changes: list[dict[str, Any]]) -> str:
        files = {entry.path: (entry.mode, entry.oid) for entry in bare.list_tree(parent, sizes=False)}
        for change in changes:
            path = change["path"].encode()
            if change["op"] == "delete":
                del files[path]
            else:
                files[path] = (change["mode"], change["blob"])
        return writer.write_tree(TreeFile(mode, oid, path) for path, (mode, oid) in files.items())


def _agree(raw: bytes, commit: dict[str, Any]) -> None:
    """The bytes of a commit and its fields say the same, as the service demands."""
    found = parse_commit(hashlib.sha1(raw, usedforsecurity=False).hexdigest(), raw)
    assert not found.signed
    assert (found.tree, found.parents) == (commit["tree"], (commit["parent"],))
    assert found.message.decode("utf-8", "replace") == commit["message"]
    for person, told in ((found.author, commit["author"]), (found.committer, commit["committer"])):
        assert told == {
            "name": person.name.decode("utf-8", "replace"),
            "email": person.email.decode("utf-8", "replace"),
            "date": f"{person.time} {person.zone}",
        }


@pytest.fixture
def rebuild(tmp_path: Path, make_checkout: Any) -> Callable[[Any, dict[str, Any]], Rebuilt]:
    """`rebuild(checkout, body)` builds a request's commits on a bare repository that knows the checkout's base only."""
    serial = iter(range(10_000))

    def run(checkout: Any, body: dict[str, Any]) -> Rebuilt:
        bare = make_checkout(tmp_path / f"github-{next(serial)}", "--bare")
        bare.git("fetch", "--quiet", "--no-tags", str(checkout.path), f"{body['base_sha']}:refs/heads/base",
                 env={"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "uploadpack.allowAnySHA1InWant",
                      "GIT_CONFIG_VALUE_0": "true"})  # fmt: skip
        return Rebuilt(Repository.open(bare.path, bare=True), body)

    return run


@pytest.fixture
def published() -> Callable[..., dict[str, Any]]:
    """`published(publication, **changes)` is the service's answer to a publication that went well."""

    def answer(publication: Any, **changes: Any) -> dict[str, Any]:
        body = publication.body
        return {
            "state": "registered",
            "created": {"branch": True, "pull": True, "stack": True},
            "resumed": False,
            "owner": body["owner"],
            "repo": body["repo"],
            "branch": body["branch"],
            "base": body["base"],
            "head": {"sha": publication.made[-1].oid, "tree": body["tree_sha"]},
            "commits": [
                {"local_sha": copy.original.oid, "github_sha": copy.oid, "tree": copy.original.tree}
                for copy in publication.made
            ],
            "pull": {
                "number": 7,
                "url": "https://github.com/kestrel-labs/tidepool/pull/7",
                "draft": False,
            },
            "stack": {"id": "stack-7", "auto_patch": False, "auto_land": True, "auto_review": None},
            **changes,
        }

    return answer
