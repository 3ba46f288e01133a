"""Only regular files are read, whole, in one state, and none that is too large."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError
from mergeway_mcp.repository.reading import FileSystem, ReadFault, read_regular_file, stat_key

SYSTEM = FileSystem()


def test_a_file_is_read_whole_with_the_key_of_its_state(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    content = read_regular_file(str(path), system=SYSTEM)
    assert (content.data, content.key) == (b"abc", stat_key(os.stat(path)))


def test_a_file_at_the_limit_is_read_and_one_beyond_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abcd")
    assert read_regular_file(str(path), system=SYSTEM, limit=4).data == b"abcd"
    with pytest.raises(ReadFault) as caught:
        read_regular_file(str(path), system=SYSTEM, limit=3)
    assert not caught.value.missing


def test_what_is_not_there_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "nothing", tmp_path / "file" / "below"):
        with pytest.raises(ReadFault) as caught:
            read_regular_file(str(path), system=SYSTEM)
        assert caught.value.missing


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReadFault) as caught:
        read_regular_file(str(tmp_path), system=SYSTEM)
    assert not caught.value.missing


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(ReadFault):
        read_regular_file(str(path), system=SYSTEM)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_that_takes_the_place_of_a_file_after_the_check_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")

    def stat_then_swap(name: str) -> os.stat_result:
        status = os.stat(name)
        path.unlink()
        os.mkfifo(path)
        return status

    with pytest.raises(ReadFault):
        read_regular_file(str(path), system=SYSTEM._replace(stat=stat_then_swap))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices here")
def test_a_device_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/dev/zero")
    with pytest.raises(ReadFault):
        read_regular_file(str(tmp_path / "a"), system=SYSTEM)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # socket paths are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(ReadFault):
            read_regular_file("s", system=SYSTEM)


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    calls = 0

    def fstat_while_writing(descriptor: int) -> os.stat_result:
        nonlocal calls
        calls += 1
        if calls == 2:
            path.write_bytes(b"newer")
        return os.fstat(descriptor)

    content = read_regular_file(str(path), system=SYSTEM._replace(fstat=fstat_while_writing))
    assert content.data == b"newer"


def test_a_file_that_never_holds_still_is_given_up_after_a_few_readings(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    sizes = iter(range(1, 1_000))

    def fstat_and_grow(descriptor: int) -> os.stat_result:
        status = os.fstat(descriptor)
        path.write_bytes(b"x" * next(sizes))
        return status

    content = read_regular_file(str(path), system=SYSTEM._replace(fstat=fstat_and_grow))
    assert content.key != stat_key(os.stat(path))


@pytest.mark.skipif(
    os.name == "nt" or getattr(os, "geteuid", lambda: 0)() == 0, reason="root reads everything"
)
def test_an_unreadable_file_is_a_repository_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "mergeway.yaml").write_bytes(b"mergeway: {version: 1}\n")
    (tmp_path / "mergeway.yaml").chmod(0)
    with pytest.raises(RepositoryError) as caught:
        Repository(str(tmp_path)).load_config()
    assert caught.value.file == str(tmp_path / "mergeway.yaml")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.EISDIR, errno.ELOOP])
def test_trouble_of_the_system_becomes_a_reason_without_path(tmp_path: Path, number: int) -> None:
    def failing(path: str) -> os.stat_result:
        raise OSError(number, "trouble", path)

    with pytest.raises(ReadFault) as caught:
        read_regular_file(str(tmp_path / "secret-name"), system=SYSTEM._replace(stat=failing))
    assert not caught.value.missing
    assert "secret-name" not in caught.value.reason


def test_trouble_in_the_middle_of_reading_becomes_a_reason_and_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    opened: list[int] = []

    def failing(descriptor: int) -> os.stat_result:
        opened.append(descriptor)
        raise OSError(errno.EIO, "trouble")

    with pytest.raises(ReadFault):
        read_regular_file(str(path), system=SYSTEM._replace(fstat=failing))
    with pytest.raises(OSError) as closed:
        os.fstat(opened[0])
    assert closed.value.errno == errno.EBADF


def test_a_file_that_reports_no_size_is_read_to_its_end_but_not_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5_000)

    def sizeless(descriptor: int) -> os.stat_result:
        status = list(os.fstat(descriptor))
        status[6] = 0
        return os.stat_result(status, {"st_mtime_ns": 1, "st_ctime_ns": 1, "st_atime_ns": 1})

    system = SYSTEM._replace(fstat=sizeless)
    assert len(read_regular_file(str(path), system=system).data) == 5_000
    with pytest.raises(ReadFault):
        read_regular_file(str(path), system=system, limit=4_999)
