"""A project that is initialised and indexed."""

from __future__ import annotations

from typing import Any

import pytest

from ragit_mcp.ingest import ingest
from ragit_mcp.init import InitRequest, initialise


@pytest.fixture
def indexed(project: Any) -> Any:
    """The project, initialised, committed and indexed."""
    initialise(project.root, InitRequest(), environ=project.env)
    project.commit("ragit")
    ingest(project.root, environ=project.env)
    return project
