"""The service that mergestorm-mcp is measured against: one that runs already, or a stand-in that only answers.

With BENCHMARK_STORM_URL, BENCHMARK_STORM_KEY, BENCHMARK_STORM_REPOSITORY (owner/name), BENCHMARK_STORM_ORIGIN (its bare
repository, as git clones it) and BENCHMARK_STORM_STACK (a stack that is quiet) the figures are those of that service.
Otherwise a small process on loopback answers at once, holds a watch as long as it is asked to, and takes a publication for
granted: figures then show what the server itself costs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.peers import environment

__all__ = ["Target", "service"]

_STACK: Final = "5f0c2a4e-6c1f-4f0e-9d7a-3b1c2d4e5f60"


class Target(NamedTuple):
    """A service and what there is in it.

    Attributes:
        url: its address.
        key: a key for it.
        owner: of a repository that the key may publish to.
        repo: its name.
        origin: that repository as git clones it; None where a fresh one serves as well.
        stack: a stack without anything to act on.
        name: what figures call it.
    """

    url: str
    key: str
    owner: str
    repo: str
    origin: str | None
    stack: str
    name: str

    def variables(self, checkout: Path) -> dict[str, str]:
        """The environment of a server that uses it and may read a checkout."""
        return {
            "MERGESTORM_API_URL": self.url,
            "MERGESTORM_API_KEY": self.key,
            "MERGESTORM_SANDBOX_ROOT": str(checkout),
        }


@contextmanager
def service() -> Iterator[Target]:
    """The service that the environment names, or the stand-in for as long as it is needed."""
    url = os.environ.get("BENCHMARK_STORM_URL")
    if url is not None:
        told = {
            name: os.environ[f"BENCHMARK_STORM_{name}"] for name in ("KEY", "REPOSITORY", "ORIGIN", "STACK")
        }
        owner, _, repo = told["REPOSITORY"].partition("/")
        yield Target(url, told["KEY"], owner, repo, told["ORIGIN"], told["STACK"], "the local service")
        return
    command = [sys.executable, "-m", "tests.benchmarks.storm_service"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield Target(
                f"http://127.0.0.1:{port}", "msk_live_benchmark", "kestrel-labs", "tidepool", None, _STACK,
                "a service that only answers",
            )  # fmt: skip
        finally:
            process.kill()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body leave together
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a read."""
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        match parts.path:
            case "/api/v1/me":
                self._answer({
                    "key": {
                        "prefix": "msk_live_ben",
                        "name": "bench",
                        "created_at": "",
                        "last_used_at": None,
                    },
                    "plan_key": "team",
                    "usage": {"standard": {"used": 1, "limit": 10, "remaining": 9}},
                })
            case "/api/v1/stacks/enrich":
                self._answer({"stacks": [_quiet_stack()]})
            case "/api/v1/stacks/queue":
                if "seen" in query or "wait" in query:
                    time.sleep(float(query["wait"][0]))  # nothing changes as long as anybody waits
                self._answer({"entries": [], "fingerprint": "quiet"})
            case _:
                self._answer({"error": "not_found"}, 404)

    def do_POST(self) -> None:
        """Take a publication for granted."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        commits = [
            {"local_sha": item["sha"], "github_sha": item["sha"], "tree": item["tree"]}
            for item in body["commits"]
        ]
        self._answer({
            "state": "registered",
            "created": {"branch": True, "pull": True, "stack": True},
            "resumed": False,
            "owner": body["owner"],
            "repo": body["repo"],
            "branch": body["branch"],
            "base": body["base"],
            "head": {"sha": body["head_sha"], "tree": body["tree_sha"]},
            "commits": commits,
            "pull": {"number": 7, "url": "https://github.com/kestrel-labs/tidepool/pull/7", "draft": False},
            "stack": {"id": _STACK, "auto_patch": False, "auto_land": True, "auto_review": None},
        })

    def _answer(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _quiet_stack() -> dict[str, Any]:
    layer = {
        "branch": "topic", "parentBranch": "main", "prNumber": 7, "position": 0, "state": "clean",
        "ciStatus": "success", "reviewStatus": "approved", "headSha": "a" * 40, "mergeable": True,
        "mergeableHeadSha": "a" * 40, "vortexStatus": "all_clear",
        "checks": {"total": 1, "success": 1, "pending": 0, "failure": 0, "failingName": None},
    }  # fmt: skip
    return {
        "id": _STACK, "owner": "kestrel-labs", "repo": "tidepool", "trunkBranch": "main", "landTarget": "main",
        "archivedAt": None, "layers": [layer],
    }  # fmt: skip


def main() -> int:
    """Serve on a free port of loopback, which is told on stdout, until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
