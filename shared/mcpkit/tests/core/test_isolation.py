"""A folder somebody else wrote cannot configure a server started in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpkit.isolation import seal_settings


def test_every_setting_of_the_caller_is_removed_and_the_fixed_ones_are_set() -> None:
    environ = {"FASTMCP_PORT": "1", "fastmcp_log_level": "DEBUG", "PATH": "/bin"}
    seal_settings(environ)
    assert environ["PATH"] == "/bin"
    assert environ["FASTMCP_ENV_FILE"] == os.devnull
    assert "FASTMCP_PORT" not in environ
    assert "fastmcp_log_level" not in environ
    once = dict(environ)
    seal_settings(environ)
    assert environ == once


def test_sealing_twice_is_harmless_even_after_the_import() -> None:
    import fastmcp  # noqa: F401 - the point: it is loaded by now

    seal_settings()


def run(code: str, folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env={**{key: text for key, text in os.environ.items() if not key.startswith("FASTMCP_")}, **extra},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_neither_a_dotenv_file_nor_the_environment_reaches_fastmcp(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FASTMCP_PORT=4321\nFASTMCP_MASK_ERROR_DETAILS=false\n", encoding="utf-8")
    code = "from mcpkit.isolation import seal_settings; seal_settings(); import fastmcp; print(fastmcp.settings.port)"
    done = run(code, tmp_path, FASTMCP_PORT="4322", FASTMCP_ENV_FILE=".env")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "8000", "")


def test_sealing_too_late_is_an_error(tmp_path: Path) -> None:
    code = "import fastmcp; from mcpkit.isolation import seal_settings; seal_settings()"
    done = run(code, tmp_path)
    assert done.returncode != 0
    assert "RuntimeError" in done.stderr


@pytest.mark.parametrize("package", ["mcpkit", "fastmcp"])
def test_a_package_of_the_working_directory_is_not_imported(tmp_path: Path, package: str) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(
        "raise SystemExit('imported from the folder')", encoding="utf-8"
    )
    done = run(f"import {package}; print('ours')", tmp_path)
    assert done.stdout.strip() == "ours"
