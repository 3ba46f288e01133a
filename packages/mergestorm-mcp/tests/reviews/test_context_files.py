"""Which files an agent may add to a review: text below the sandbox root, and never git's or Mergestorm's own."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit import files
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.reviews import context
from mergestorm_mcp.reviews.context import MAX_CONTEXT, MAX_CONTEXT_FILE, context_text, read_context_files

POSIX = pytest.mark.skipif(
    os.name == "nt", reason="Windows has no such files, or needs a privilege to make them"
)


@pytest.fixture
def read(environment: Environment) -> Callable[..., list[dict[str, str]]]:
    """`read(*names, cwd=None)` reads from the working directory."""

    def run(*names: str, cwd: str | None = None) -> list[dict[str, str]]:
        return read_context_files(environment, cwd, names)

    return run


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    with pytest.raises(CommandError) as error:
        call(*arguments, **options)
    assert (error.value.code, error.value.exit_code) == ("usage", 2)
    return error.value.message


@pytest.fixture
def work(folders: dict[str, str]) -> Path:
    root = Path(folders["work"])
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("from sub\n", encoding="utf-8")
    (root / "top.txt").write_text("from top\n", encoding="utf-8")
    return root


def test_files_are_named_from_the_directory_that_was_given(work: Path, read: Any) -> None:
    assert read("a.txt", cwd="sub") == [{"path": "a.txt", "content": "from sub\n"}]
    assert read("sub/a.txt", str(work / "top.txt")) == [
        {"path": "sub/a.txt", "content": "from sub\n"},
        {"path": "top.txt", "content": "from top\n"},
    ]


def test_a_path_never_climbs_out_of_the_root_s_view(work: Path, read: Any) -> None:
    assert read("../top.txt", cwd="sub") == [{"path": "top.txt", "content": "from top\n"}]


@pytest.mark.parametrize(
    "name",
    [
        "../outside/x",
        "/etc/passwd",
        "sub/../../outside/x",
        "nowhere.txt",
        "sub",
        ".",
        "",
        " ",
        "a\0b",
        "x" * 5000,
    ],
)
def test_what_is_no_file_below_the_root_is_refused(
    work: Path, read: Any, folders: dict[str, str], name: str
) -> None:
    Path(folders["outside"], "x").write_text("outside\n", encoding="utf-8")
    assert "outside\n" not in refused(read, name)


@POSIX
def test_a_link_that_stays_inside_is_followed_and_one_that_leaves_is_not(
    work: Path, read: Any, folders: dict[str, str]
) -> None:
    Path(folders["outside"], "x").write_text("outside\n", encoding="utf-8")
    (work / "inner").symlink_to("sub/a.txt")
    (work / "outer").symlink_to(os.path.join(folders["outside"], "x"))
    (work / "way-out").symlink_to(folders["outside"])
    (work / "loop").symlink_to("loop")
    assert read("inner")[0]["content"] == "from sub\n"
    for name in ("outer", "way-out/x", "loop"):
        refused(read, name)


@POSIX
def test_a_file_exchanged_for_a_link_between_check_and_read_is_refused(
    work: Path, read: Any, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(folders["outside"], "a.txt").write_text("outside\n", encoding="utf-8")
    real = files.locate_below

    def swap(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        (work / "sub").rename(work / "was")
        (work / "sub").symlink_to(folders["outside"])
        return found

    monkeypatch.setattr(context, "locate_below", swap)
    assert "outside\n" not in refused(read, "sub/a.txt")


@POSIX
@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_what_is_no_regular_file_is_refused_without_waiting(
    work: Path, read: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "fifo":
        os.mkfifo(work / "odd")
    elif kind == "socket":
        monkeypatch.chdir(work)  # a socket's name has to be short
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("odd")
    else:
        (work / "odd").symlink_to("/dev/zero")
    refused(read, "odd")


@pytest.mark.parametrize("name", [".git/config", ".git/HEAD", ".GIT/config", "sub/../.git/config"])
def test_git_s_own_files_are_never_read(checkout: Any, read: Any, name: str) -> None:
    (checkout.path / "sub").mkdir()
    if not (checkout.path / name).exists():
        pytest.skip("this file system tells .GIT and .git apart")
    refused(read, name)


@POSIX
def test_git_s_own_files_are_never_read_under_another_name(
    checkout: Any, read: Any, make_checkout: Any
) -> None:
    (checkout.path / "innocent").symlink_to(".git/config")
    make_checkout(checkout.path / "store", "--bare")
    refused(read, "innocent")
    refused(read, "store/config")
    refused(read, "store/hooks/../config")


def test_mergestorm_s_configuration_is_never_read(environment: Environment, folders: dict[str, str]) -> None:
    inside = Environment({**environment.variables, "MERGESTORM_SANDBOX_ROOT": folders["home"]}, folders["home"],
                         folders["work"])  # fmt: skip
    place = Path(folders["home"], ".mergestorm")
    place.mkdir()
    (place / "config.json").write_text('{"apiKey": "x"}', encoding="utf-8")
    refused(read_context_files, inside, folders["home"], [".mergestorm/config.json"])
    os.link(place / "config.json", os.path.join(folders["home"], "innocent"))
    refused(read_context_files, inside, folders["home"], ["innocent"])


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="this system has no /proc")
@pytest.mark.parametrize(
    "name", ["/proc/self/environ", "/proc/self/status", "proc/version", "/proc/self/cwd/x"]
)
def test_what_the_kernel_shows_as_files_is_never_read(folders: dict[str, str], name: str) -> None:
    everything = Environment({"MERGESTORM_SANDBOX_ROOT": "/"}, folders["home"], "/")
    refused(read_context_files, everything, None, [name])


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="this system has no /proc")
@pytest.mark.parametrize("way", ["/proc/self/environ", "/proc/self/root", "/proc/self/cwd", "/dev/fd"])
def test_links_into_proc_lead_nowhere(work: Path, read: Any, folders: dict[str, str], way: str) -> None:
    (work / "way").symlink_to(way)
    outside = Path(folders["outside"], "x")
    outside.write_text("outside\n", encoding="utf-8")
    descriptor = os.open(outside, os.O_RDONLY)
    try:
        for name in ("way", f"way{outside}", f"way/{descriptor}"):
            assert "outside\n" not in refused(read, name)
    finally:
        os.close(descriptor)


@POSIX
def test_a_directory_under_two_names_is_one_place(work: Path, folders: dict[str, str]) -> None:
    (Path(folders["outside"]) / "alias").symlink_to(work)
    alias = os.path.join(folders["outside"], "alias")
    for root, cwd in ((alias, folders["work"]), (folders["work"], alias), (alias, alias)):
        environment = Environment({"MERGESTORM_SANDBOX_ROOT": root}, folders["home"], folders["outside"])
        found = read_context_files(environment, cwd, ["sub/a.txt", os.path.join(alias, "top.txt")])
        assert [file["path"] for file in found] == ["sub/a.txt", "top.txt"]
        refused(read_context_files, environment, cwd, ["../outside/alias/../x"])


@POSIX
def test_a_root_in_another_case_is_another_place(work: Path, read: Any, folders: dict[str, str]) -> None:
    other = Path(folders["work"].upper())
    if other.exists():
        pytest.skip("this file system tells no cases apart")
    sibling = Path(folders["work"]).with_name("WORK")
    sibling.mkdir()
    (sibling / "x").write_text("outside\n", encoding="utf-8")
    for name in ("../WORK/x", str(sibling / "x")):
        assert "outside\n" not in refused(read, name)


def test_a_home_directory_that_nobody_chose_is_no_sandbox(folders: dict[str, str]) -> None:
    Path(folders["home"], "a.txt").write_text("x", encoding="utf-8")
    with pytest.raises(CommandError) as error:
        read_context_files(Environment({}, folders["home"], folders["home"]), None, ["a.txt"])
    assert error.value.code == "sandbox_root_required"


def test_lengths_count_characters(work: Path, read: Any) -> None:
    (work / "long").write_text("𝄞" * MAX_CONTEXT_FILE, encoding="utf-8")
    assert len(read("long")[0]["content"]) == MAX_CONTEXT_FILE
    (work / "longer").write_text("a" * (MAX_CONTEXT_FILE + 1), encoding="utf-8")
    (work / "longest").write_text("𝄞" * (MAX_CONTEXT_FILE + 1), encoding="utf-8")
    refused(read, "longer")
    refused(read, "longest")


def test_all_files_together_are_limited(work: Path, read: Any) -> None:
    (work / "long").write_text("a" * (MAX_CONTEXT // 4), encoding="utf-8")
    assert len(read(*["long"] * 4)) == 4
    refused(read, *["long"] * 4, "top.txt")
    refused(read, *["top.txt"] * 11)


@pytest.mark.parametrize("content", [b"\0", b"caf\xe9"])
def test_what_is_no_text_is_refused(work: Path, read: Any, content: bytes) -> None:
    (work / "odd").write_bytes(content)
    refused(read, "odd")


def test_the_text_is_trimmed_and_bounded() -> None:
    assert context_text(None) is None
    assert context_text(" \n why \n") == "why"
    assert len(context_text("x" * MAX_CONTEXT) or "") == MAX_CONTEXT
    for text in ("", "  \n", "x" * (MAX_CONTEXT + 1)):
        refused(context_text, text)
