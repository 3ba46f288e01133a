"""Every reply is one envelope, written twice; every failure says what it is and shows nothing of its cause."""

from __future__ import annotations

import json
import logging
import string
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from anyio import to_thread

from mcpkit.testing import Outcome, connect_memory
from ragit_mcp import __version__
from ragit_mcp.config import load_config
from ragit_mcp.errors import ERRORS
from ragit_mcp.retrieval import Searcher
from ragit_mcp.server import tools as server_tools
from ragit_mcp.server.tools import create

pytestmark = pytest.mark.anyio

LETTERS = string.ascii_lowercase

SUCCESSES: list[tuple[str, dict[str, Any]]] = [
    ("ragit_status", {}),
    ("ragit_query", {"question": "harbour crane", "topK": 2, "explain": True}),
    ("ragit_query", {"question": "harbour crane", "at": "HEAD", "scope": "all", "view": "full"}),
    ("ragit_context_pack", {"goal": "harbour crane", "budget": 50}),
]


async def ask(app: Any, tool: str, arguments: dict[str, Any] | None) -> Outcome:
    """One call in a session of its own."""
    async with connect_memory(app) as client:
        await client.initialize()
        return await client.call(tool, arguments)


def checked(outcome: Outcome, tool: str) -> dict[str, Any]:
    """The envelope, once its outside is found to be right."""
    envelope: dict[str, Any] = outcome.structured
    assert json.loads(outcome.text) == envelope
    assert len(outcome.result["content"]) == 1
    failed = not envelope["ok"]
    assert list(envelope) == [
        "ok",
        "tool",
        "version",
        "cwd",
        "data",
        "warnings",
        *(["error"] if failed else []),
    ]
    assert (envelope["tool"], envelope["version"]) == (tool, __version__)
    assert outcome.is_tool_error is failed
    if failed:
        assert (envelope["data"], envelope["warnings"]) == (None, [])
        assert list(envelope["error"]) == [
            "code",
            "category",
            "message",
            "retryable",
            "details",
            "recovery",
        ]
        facts = ERRORS[envelope["error"]["code"]]
        assert (envelope["error"]["category"], envelope["error"]["retryable"]) == (
            facts.category,
            facts.retryable,
        )
    return envelope


@pytest.mark.parametrize(("tool", "arguments"), SUCCESSES)
async def test_a_success_is_an_envelope_with_data(
    harbour: Any, harbour_app: Any, tool: str, arguments: dict[str, Any]
) -> None:
    envelope = checked(await ask(harbour_app, tool, arguments), tool)
    assert envelope["ok"], envelope
    assert envelope["cwd"] == str(harbour.root)
    assert isinstance(envelope["data"], dict)


async def test_the_defaults_are_those_of_configuration_and_contract(harbour: Any, harbour_app: Any) -> None:
    asked = checked(await ask(harbour_app, "ragit_query", {"question": "crane"}), "ragit_query")["data"]
    assert (asked["scope"], asked["explain"], asked["snapshotSha"]) == ("durable", False, harbour.head)
    assert len(asked["hits"]) <= load_config(harbour.root).retrieval.top_k
    assert not any("scoreBreakdown" in hit for hit in asked["hits"])
    goal = {"goal": "crane"}
    packed = checked(await ask(harbour_app, "ragit_context_pack", goal), "ragit_context_pack")["data"]
    assert (packed["budget"], packed["scope"]) == (1_200, "durable")


async def test_missing_arguments_are_no_arguments(harbour_app: Any) -> None:
    assert checked(await ask(harbour_app, "ragit_status", None), "ragit_status")["ok"]
    refused = checked(await ask(harbour_app, "ragit_query", None), "ragit_query")
    assert refused["error"]["details"]["field"] == "question"


@pytest.mark.parametrize("tool", ["ragit_status", "ragit_query", "ragit_context_pack"])
async def test_an_invalid_input_names_the_field_and_never_the_value(harbour_app: Any, tool: str) -> None:
    envelope = checked(await ask(harbour_app, tool, {"surplus": "zebra-7781"}), tool)
    assert envelope["error"]["code"] == "MCP_INVALID_INPUT"
    assert envelope["error"]["details"]["field"] == "surplus"
    assert envelope["error"]["recovery"]["command"] == "Correct the tool arguments and retry."
    assert "zebra" not in json.dumps(envelope)


@pytest.mark.parametrize("tool", ["ragit_ingest", "", "RAGIT_STATUS", "__proto__"])
async def test_a_tool_that_is_not_there_is_answered_with_an_envelope(harbour_app: Any, tool: str) -> None:
    assert checked(await ask(harbour_app, tool, {}), tool)["error"]["code"] == "MCP_INVALID_INPUT"


@pytest.mark.parametrize(
    ("tool", "arguments"), [("ragit_query", {"question": "x"}), ("ragit_context_pack", {"goal": "x"})]
)
async def test_an_operational_error_is_reported_as_the_engine_says_it(
    harbour: Any, harbour_app: Any, tool: str, arguments: dict[str, Any]
) -> None:
    unknown = "0123456789" * 4
    for at, code in ((unknown, "SNAPSHOT_REF_INVALID"), ("main", "SNAPSHOT_REF_INVALID")):
        envelope = checked(await ask(harbour_app, tool, {**arguments, "at": at}), tool)
        assert envelope["error"]["code"] == code
        assert envelope["error"]["details"]["ref"] == at
        assert str(harbour.root) not in json.dumps(envelope["error"])


async def test_status_works_before_anything_is_indexed_and_makes_nothing(plain: Any) -> None:
    before = plain.everything()
    app = create(str(plain.root))
    status = checked(await ask(app, "ragit_status", {}), "ragit_status")
    assert status["data"]["snapshot"]["status"] == "missing"
    for tool, arguments in (("ragit_query", {"question": "x"}), ("ragit_context_pack", {"goal": "x"})):
        envelope = checked(await ask(app, tool, arguments), tool)
        assert envelope["error"]["code"] == "SNAPSHOT_NOT_INDEXED"
        assert str(plain.root) not in json.dumps(envelope["error"])
    assert plain.everything() == before


async def test_an_unexpected_fault_leaks_nothing_and_leaves_one_masked_line(
    harbour: Any,
    harbour_app: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "ghp_" + "a1B2" * 9

    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError(f"{secret} at {harbour.root}\nsecond line")

    monkeypatch.setattr(server_tools, "query", broken)
    with caplog.at_level(logging.ERROR):
        envelope = checked(await ask(harbour_app, "ragit_query", {"question": "x"}), "ragit_query")
    error = envelope["error"]
    assert (error["code"], error["details"]) == ("MCP_INTERNAL_ERROR", {})
    assert error["recovery"]["command"] == "ragit doctor"
    for leaked in ("ZeroDivisionError", secret, str(harbour.root), "second line", "Traceback"):
        assert leaked not in json.dumps(error)
    (record,) = [record for record in caplog.records if "ZeroDivisionError" in record.getMessage()]
    line = record.getMessage()
    assert secret not in line
    assert "\n" not in line
    assert record.exc_info is None
    assert line.split(":")[0] in error["message"]


async def test_a_fault_while_loading_ahead_is_one_masked_line_and_fails_no_call(
    harbour: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "ghp_" + "a1B2" * 9

    def broken(_searcher: object) -> None:
        raise ZeroDivisionError(f"{secret}\nsecond line")

    monkeypatch.setattr(Searcher, "warm", broken)
    app = create(str(harbour.root), warm=True)
    for thread in threading.enumerate():
        if thread.name == "warm":
            thread.join(30)
    (line,) = capsys.readouterr().err.splitlines()
    assert "ZeroDivisionError" in line
    assert secret not in line
    assert checked(await ask(app, "ragit_query", {"question": "crane"}), "ragit_query")["ok"]


class EmbeddingService(ThreadingHTTPServer):
    """Speaks OpenAI's protocol on this machine and counts who asks."""

    daemon_threads = True
    asked = 0

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class EmbeddingHandler(BaseHTTPRequestHandler):
    """One vector a text: how often each letter occurs, and zeros."""

    server: EmbeddingService

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked += 1
        rows = [[1.0, *(float(text.count(letter)) for letter in LETTERS)] for text in body["input"]]
        data = [{"index": at, "embedding": row + [0.0] * (1_536 - len(row))} for at, row in enumerate(rows)]
        answer = json.dumps({"data": data}).encode("utf-8")
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_request(self, *_arguments: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    """A service that is running."""
    with EmbeddingService(("127.0.0.1", 0), EmbeddingHandler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join(10)


async def test_a_remote_provider_is_never_asked_by_the_server(
    plain: Any, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    monkeypatch.setenv("RAGIT_TRUST_HOSTS", service.url)
    plain.write({"docs/crane.md": "# Crane\n\nThe crane lifts two tons.\n"})
    plain.ragit("init", "--yes")
    plain.ragit("config", "set", "embedding.provider", "openai")
    plain.ragit("config", "set", "embedding.model", "text-embedding-3-small")
    plain.commit()
    await to_thread.run_sync(plain.ragit, "ingest")  # the provider runs an event loop of its own
    asked = service.asked
    assert asked > 0
    before = plain.everything()
    app = create(str(plain.root))
    calls = (("ragit_query", {"question": "zebra crane"}), ("ragit_context_pack", {"goal": "zebra crane"}))
    for tool, arguments in calls:
        envelope = checked(await ask(app, tool, arguments), tool)
        error = envelope["error"]
        assert error["code"] == "MCP_REMOTE_EMBEDDING_CACHE_MISS"
        assert error["details"] == {
            "provider": "openai",
            "model": "text-embedding-3-small",
            "missingCount": 1,
        }
        assert "zebra" not in json.dumps(envelope)
    assert checked(await ask(app, "ragit_status", {}), "ragit_status")["ok"]
    assert service.asked == asked
    assert plain.everything() == before

    # What `recovery` says: the command line asks once and keeps the vector; from then on the server has it.
    await to_thread.run_sync(plain.ragit, "query", "zebra crane")
    asked_once = service.asked
    assert asked_once == asked + 1
    before = plain.everything()
    for tool, arguments in calls:
        assert checked(await ask(app, tool, arguments), tool)["ok"]
    assert service.asked == asked_once
    assert plain.everything() == before
