from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.config import Config, load_config

VECTORS = Path(__file__).parents[1] / "vectors"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`<group>_case` stands for every recorded case of a group of egress or scoring vectors."""
    for name in metafunc.fixturenames:
        group = name.removesuffix("_case")
        if group == name:
            continue
        cases = [
            case
            for file in ("egress.json", "scoring.json")
            for case in json.loads((VECTORS / file).read_text(encoding="utf-8"))["cases"]
            if case["group"] == group
        ]
        metafunc.parametrize(name, cases, ids=[case["id"] for case in cases])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A directory with an empty `.ragit`."""
    root = tmp_path / "repository"
    (root / ".ragit").mkdir(parents=True)
    return root


@pytest.fixture
def configured(repository: Path, tmp_path: Path) -> Callable[..., Config]:
    """The configuration from settings of the repository, of the user and of the environment."""

    def load(
        repository_settings: dict[str, Any] | None = None,
        *,
        user: dict[str, Any] | None = None,
        environ: dict[str, str] | None = None,
    ) -> Config:
        (repository / ".ragit" / "config.toml").write_text(_toml(repository_settings), encoding="utf-8")
        user_file = tmp_path / "user.toml"
        user_file.write_text(_toml(user), encoding="utf-8")
        return load_config(repository, environ={"RAGIT_USER_CONFIG": str(user_file)} | (environ or {}))

    return load


def _toml(settings: dict[str, Any] | None) -> str:
    sections: dict[str, list[str]] = {}
    for key, value in (settings or {}).items():
        section, name = key.split(".")
        sections.setdefault(section, []).append(f"{name} = {json.dumps(value)}")
    return "".join("\n".join([f"[{section}]", *lines, ""]) for section, lines in sections.items())


#: What a service does with one request: a status, or a function that answers itself.
Reply = int | Callable[["Handler", dict[str, Any]], None]


@dataclass
class FakeService:
    """An embedding service on this machine. Speaks OpenAI's and Ollama's protocol; can misbehave by script."""

    url: str = ""
    dimensions: int = 4
    replies: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for request in self.requests for text in request["input"]]

    def vector(self, text: str) -> list[float]:
        """A vector that depends on the text."""
        return [float(len(text)), *(float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz")][
            : self.dimensions
        ] + [1.0] * (self.dimensions - 27)


class Handler(BaseHTTPRequestHandler):
    """Answers from the script of `service`, then well."""

    service: FakeService
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.service.requests.append(body)
        self.service.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.service.paths.append(self.path)
        reply = self.service.replies.pop(0) if self.service.replies else 200
        if callable(reply):
            reply(self, body)
        elif reply == 200:
            self.answer(self.rows([self.service.vector(text) for text in body["input"]]))
        else:
            self.answer(
                {"error": "the body of an error must not be shown: " + body["input"][0]}, status=reply
            )

    def rows(self, vectors: list[Any]) -> dict[str, Any]:
        """Vectors in the shape of the protocol that was asked for."""
        if self.path.endswith("/api/embed"):
            return {"embeddings": vectors}
        return {"data": [{"index": place, "embedding": row} for place, row in enumerate(vectors)]}

    def answer(self, value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode("utf-8")
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, *args: Any) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        return  # clients break off on purpose here


@pytest.fixture
def service() -> Iterator[FakeService]:
    """A service that is running."""
    fake = FakeService()
    server = _Server(("127.0.0.1", 0), type("ThisHandler", (Handler,), {"service": fake}))
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield fake
    fake.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def state_of(repository: Path) -> Callable[[], dict[str, tuple[int, int, bytes]]]:
    """Every file and directory below the repository: mode, time of change, content."""

    def state() -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for path in sorted(repository.rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[os.fspath(path.relative_to(repository))] = (status.st_mode, status.st_mtime_ns, content)
        return found

    return state
