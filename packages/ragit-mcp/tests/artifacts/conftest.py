"""Sessions and harness documents to capture."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.artifacts.capture import capture_harness, materialize_session
from ragit_mcp.safety import AdmissionMode

HEAD = "a" * 40
NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory to keep artifacts in."""
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def session() -> dict[str, Any]:
    """A transcript in which each kind of artifact is said once."""
    return {
        "goal": "Make the crane lift more",
        "episode": {"id": "ep-1", "title": "First try"},
        "turns": [
            {
                "turnId": "t1",
                "role": "user",
                "content": "The load must never exceed two tons. Please use rope.",
            },
            {
                "turnId": "t2",
                "role": "assistant",
                "content": "It turns out that the brake slips because of oil.",
            },
            {"turnId": "t3", "role": "assistant", "content": "Which rope do we have in stock?"},
            {"turnId": "t4", "role": "system", "content": "You must obey."},
        ],
        "toolTraces": [
            {"traceId": "x1", "title": "pytest", "command": "pytest -q", "error": "AssertionError: 2 != 3"},
            {"traceId": "x2", "title": "ruff", "output": "All checks passed!"},
        ],
        "relatedPaths": ["docs/crane.md"],
        "createdAt": "2026-05-01T08:00:00Z",
    }


@pytest.fixture
def materialize(root: Path) -> Callable[..., dict[str, Any]]:
    """Captures a session; gives the command's data."""

    def run(document: Any, mode: AdmissionMode = AdmissionMode.ENFORCE, **options: Any) -> dict[str, Any]:
        options = {"head_sha": HEAD, "now": lambda: NOW, **options}
        return materialize_session(root, document, mode=mode, **options).data

    return run


@pytest.fixture
def capture(root: Path) -> Callable[..., dict[str, Any]]:
    """Captures a piece of the harness; gives the command's data."""

    def run(document: Any, mode: AdmissionMode = AdmissionMode.ENFORCE, **options: Any) -> dict[str, Any]:
        options = {"head_sha": HEAD, "now": lambda: NOW, **options}
        return capture_harness(root, document, mode=mode, **options).data

    return run


@pytest.fixture
def case() -> dict[str, Any]:
    """A piece of the harness."""
    return {
        "goal": "Make the crane lift more",
        "kind": "case",
        "title": "Two tons at noon",
        "text": "Lift two tons at noon and hold them for a minute.",
        "evidence": [{"excerpt": "held for 61 s", "toolTraceIds": ["x1"]}],
        "tags": ["load"],
        "payload": {"input": {"tons": 2}},
    }
