from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.errors import CommandError
from ragit_mcp.hooks import HooksDirectory, read_hook
from ragit_mcp.hooks.installing import install_hook, uninstall_hook
from ragit_mcp.hooks.script import (
    HOOK_NAMES,
    find_block,
    is_shell_script,
    program_in,
    render_block,
    with_block,
    without_block,
)

posix = pytest.mark.skipif(os.name == "nt", reason="executable bits and links are a POSIX thing")


@pytest.fixture
def directory(tmp_path: Path) -> HooksDirectory:
    """An empty directory of hooks that does not exist yet."""
    return HooksDirectory(str(tmp_path / "hooks"), "default", shared=False, in_work_tree=False)


def contents(directory: HooksDirectory) -> dict[str, tuple[bytes, int]]:
    return {
        entry.name: (Path(entry.path).read_bytes(), stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode))
        for entry in os.scandir(directory.path)
    }


@pytest.mark.parametrize("name", HOOK_NAMES)
def test_a_hook_is_installed_and_taken_out_again(directory: HooksDirectory, name: str) -> None:
    assert read_hook(directory, name).state == "absent"
    state = install_hook(directory, name)
    assert (state.state, state.chained, state.program) == ("installed", False, sys.executable)
    assert uninstall_hook(directory, name)
    assert contents(directory) == {}
    assert not uninstall_hook(directory, name)


BEFORE = {
    "shell": "#!/bin/sh\nset -e\necho before\nexit 3\n",
    "bash": '#!/usr/bin/env bash\n[[ -n "$0" ]] && echo before\n',
    "with options": "#!/bin/sh -eu\necho before\n",
    "without an end": "#!/bin/sh\necho before",
    "python": "#!/usr/bin/env python3\nprint('before')\n",
    "without a first line": "echo before\n",
    "latin-1": "#!/bin/sh\necho before # caf\u00e9\n",
}


@posix
@pytest.mark.parametrize("text", BEFORE.values(), ids=BEFORE)
def test_a_hook_that_was_there_is_the_same_byte_for_byte_afterwards(
    directory: HooksDirectory, write_hook: Any, text: str
) -> None:
    path = write_hook(Path(directory.path) / "post-commit", text, 0o750)
    path.write_bytes(text.encode("latin-1", "replace"))
    before = contents(directory)
    assert install_hook(directory, "post-commit").chained
    assert read_hook(directory, "post-commit").state == "installed"
    assert uninstall_hook(directory, "post-commit")
    assert contents(directory) == before


@posix
@pytest.mark.parametrize("text", [text for name, text in BEFORE.items() if name != "latin-1"])
def test_a_hook_that_was_there_still_runs_with_its_exit_code_and_arguments(
    directory: HooksDirectory, write_hook: Any, text: str, tmp_path: Path
) -> None:
    path = write_hook(Path(directory.path) / "post-merge", text)
    alone = (
        subprocess.run([path, "1"], cwd=tmp_path, capture_output=True, check=False, timeout=30)
        if text[:2] == "#!"
        else None
    )
    install_hook(directory, "post-merge")
    together = subprocess.run([path, "1"], cwd=tmp_path, capture_output=True, check=False, timeout=30)
    assert together.stdout == b"before\n"
    if alone is not None:
        assert (together.returncode, together.stderr) == (alone.returncode, alone.stderr)


@posix
def test_a_hook_that_is_a_link_stays_one(directory: HooksDirectory, write_hook: Any, tmp_path: Path) -> None:
    target = write_hook(tmp_path / "tracked" / "hook.sh", "#!/bin/sh\necho before\n")
    Path(directory.path).mkdir()
    link = Path(directory.path) / "post-commit"
    link.symlink_to(target)
    install_hook(directory, "post-commit")
    assert target.read_bytes() == b"#!/bin/sh\necho before\n"
    assert (
        subprocess.run([link], cwd=tmp_path, capture_output=True, check=True, timeout=30).stdout
        == b"before\n"
    )
    uninstall_hook(directory, "post-commit")
    assert link.is_symlink()
    assert os.readlink(link) == str(target)


@posix
def test_a_hook_that_is_switched_off_stays_off(
    directory: HooksDirectory, write_hook: Any, tmp_path: Path
) -> None:
    path = write_hook(Path(directory.path) / "post-commit", "#!/bin/sh\necho before\n", 0o644)
    install_hook(directory, "post-commit")
    assert subprocess.run([path], cwd=tmp_path, capture_output=True, check=True, timeout=30).stdout == b""
    uninstall_hook(directory, "post-commit")
    assert contents(directory)["post-commit"] == (b"#!/bin/sh\necho before\n", 0o644)


def test_to_install_twice_changes_nothing(directory: HooksDirectory) -> None:
    install_hook(directory, "post-commit")
    before = contents(directory)
    install_hook(directory, "post-commit")
    assert contents(directory) == before


@posix
def test_an_older_block_is_replaced_where_it_stands(directory: HooksDirectory, write_hook: Any) -> None:
    write_hook(Path(directory.path) / "post-commit", "#!/bin/sh\necho before\n")
    install_hook(directory, "post-commit", python="/gone/python")
    assert read_hook(directory, "post-commit").state == "broken"
    assert install_hook(directory, "post-commit").state == "installed"
    content = (Path(directory.path) / "post-commit").read_bytes()
    assert content.count(b">>> ragit >>>") == 1
    assert b"/gone/python" not in content


@posix
def test_what_was_kept_aside_before_is_never_overwritten(directory: HooksDirectory, write_hook: Any) -> None:
    write_hook(Path(directory.path) / "post-commit", "#!/usr/bin/env python3\n")
    write_hook(Path(directory.path) / "post-commit.before-ragit", "precious")
    before = contents(directory)
    with pytest.raises(CommandError) as caught:
        install_hook(directory, "post-commit")
    assert caught.value.code == "WRITE_FAILED"
    assert contents(directory) == before


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written_is_an_error_with_a_code(directory: HooksDirectory) -> None:
    os.mkdir(directory.path, 0o500)
    with pytest.raises(CommandError) as caught:
        install_hook(directory, "post-commit")
    assert caught.value.code == "WRITE_FAILED"


def test_a_directory_in_the_place_of_a_hook_is_an_error_with_a_code(directory: HooksDirectory) -> None:
    (Path(directory.path) / "post-commit").mkdir(parents=True)
    with pytest.raises(CommandError) as caught:
        install_hook(directory, "post-commit")
    assert caught.value.code == "WRITE_FAILED"
    assert read_hook(directory, "post-commit").state == "foreign"


@posix
def test_a_hook_whose_bit_is_lost_is_broken(directory: HooksDirectory) -> None:
    install_hook(directory, "post-commit")
    os.chmod(Path(directory.path) / "post-commit", 0o644)
    assert read_hook(directory, "post-commit").state == "broken"


@settings(deadline=None)
@given(
    st.binary(max_size=200),
    st.sampled_from(["/usr/bin/python3", "/a b/it's/py$thon", "C:\\Program Files\\py.exe"]),
)
def test_a_block_goes_in_and_comes_out_of_any_script(body: bytes, python: str) -> None:
    script = b"#!/bin/sh\n" + body.replace(b"# >>> ragit >>>", b"")
    block = render_block("post-commit", python)
    assert is_shell_script(script)
    assert without_block(with_block(script, block)) == script
    assert with_block(with_block(script, render_block("post-merge", "/old")), block) == with_block(
        script, block
    )
    assert find_block(with_block(script, block)) == block
    assert program_in(block) == python.replace("\\", "/")
