"""No module that writes can be reached from the server: neither when it is loaded nor by any import it could ever run."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mcpkit
import ragit_mcp

ROOTS = ("ragit_mcp.main", "ragit_mcp.server.tools")
PACKAGES: dict[str, ModuleType] = {"ragit_mcp": ragit_mcp, "mcpkit": mcpkit}
# Modules, with everything below them, that change something on disk.
WRITERS = (
    "mcpkit.git.writing",
    "ragit_mcp.artifacts.capture",
    "ragit_mcp.artifacts.extraction",
    "ragit_mcp.artifacts.input",
    "ragit_mcp.cli",
    "ragit_mcp.config.editing",
    "ragit_mcp.doctor",
    "ragit_mcp.embedding.cache.writing",
    "ragit_mcp.embedding.writing",
    "ragit_mcp.hooks",
    "ragit_mcp.ingest",
    "ragit_mcp.init",
    "ragit_mcp.ledger.audit",
    "ragit_mcp.ledger.writing",
    "ragit_mcp.workspace_files",
)
# What a module that writes calls, however it came by it. `mcpkit.files` reads and writes; readers take no writer of it.
WRITING_CALLS = frozenset({
    *("atomic_write", "atomic_write_below", "write_text", "write_bytes", "touch", "mkdir", "makedirs"),
    *("unlink", "rmdir", "rename", "rmtree", "copyfile", "copytree", "symlink", "symlink_to", "hardlink_to"),
    *("truncate", "ftruncate", "chmod", "chown", "utime", "mkstemp", "mkdtemp", "fsync"),
})


def source_of(module: str) -> Path | None:
    """The file of a module of ours; None if there is no such module."""
    package, *rest = module.split(".")
    if package not in PACKAGES:
        return None
    place = Path(PACKAGES[package].__path__[0]).joinpath(*rest)
    for candidate in (place / "__init__.py", place.parent / f"{place.name}.py"):
        if candidate.is_file():
            return candidate
    return None


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that a source could import: at the top, inside a function, for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def providers() -> list[str]:
    """The providers, which are imported by name."""
    place = Path(ragit_mcp.__path__[0], "embedding", "providers")
    return [
        f"ragit_mcp.embedding.providers.{path.stem}" for path in place.glob("*.py") if path.stem != "__init__"
    ]


@pytest.fixture(scope="module")
def reachable() -> dict[str, ast.Module]:
    """Modules of ours that the server can reach, with their syntax."""
    found: dict[str, ast.Module] = {}
    todo = [*ROOTS, *providers()]
    while todo:
        module = todo.pop()
        # What mcpkit.testing needs is reached only from the generator of the snapshot, never in a server.
        if module in found or module.startswith("mcpkit.testing"):
            continue
        place = source_of(module)
        if place is None:
            continue
        found[module] = ast.parse(place.read_text(encoding="utf-8"))
        todo += [module.rpartition(".")[0], *imports(found[module])]
    return found


def writers_among(modules: set[str]) -> list[str]:
    """Those that write."""
    return sorted(
        module for module in modules if any(f"{module}.".startswith(f"{writer}.") for writer in WRITERS)
    )


def test_the_list_of_writers_names_modules_that_exist() -> None:
    assert [writer for writer in WRITERS if source_of(writer) is None] == []


def test_no_import_of_the_server_leads_to_a_writer(reachable: dict[str, ast.Module]) -> None:
    assert len(reachable) > 60
    assert writers_among(set(reachable)) == []


def test_the_server_loads_no_writer() -> None:
    program = (
        "import importlib, json, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "print(json.dumps(list(sys.modules)))\n"
    )
    # The transformer's own import is part of an extra; its module loads without it.
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *ROOTS, *providers()],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    loaded = set(json.loads(done.stdout))
    assert set(ROOTS) <= loaded
    assert writers_among(loaded) == []


def test_modules_are_imported_by_name_only_where_it_is_known_which(reachable: dict[str, ast.Module]) -> None:
    by_name = {
        module
        for module, tree in reachable.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "import_module")
        or (isinstance(node, ast.Name) and node.id in {"__import__", "import_module", "exec", "eval"})
    }
    ours = {module for module in by_name if module.startswith("ragit_mcp.")}
    assert ours == {"ragit_mcp.embedding.providers", "ragit_mcp.embedding.providers.transformer"}


def test_no_module_of_ragit_that_the_server_reaches_calls_anything_that_writes(
    reachable: dict[str, ast.Module],
) -> None:
    calls = set()
    for module, tree in reachable.items():
        if not module.startswith("ragit_mcp"):
            continue
        for node in ast.walk(tree):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
            if name in WRITING_CALLS:
                calls.add((module, name))
            if isinstance(node, ast.ImportFrom):
                calls.update((module, alias.name) for alias in node.names if alias.name in WRITING_CALLS)
    assert calls == set()
