"""Reading below a root: nothing outside is reached, nothing but regular files is opened, nothing is too large."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpkit import files
from mcpkit.files import FileAccessError, locate_below, open_below, read_below, read_regular, walk_below

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links, FIFOs and permissions")
descriptors_only = pytest.mark.skipif(
    not files._HAS_DIRECTORY_DESCRIPTORS, reason="the platform has no directory descriptors"
)


@pytest.fixture(params=["descriptors", "real paths"])
def strategy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of walking; the one for Windows works everywhere and must refuse the same things."""
    if request.param == "real paths":
        monkeypatch.setattr(files, "_HAS_DIRECTORY_DESCRIPTORS", False)
    elif not files._HAS_DIRECTORY_DESCRIPTORS:
        pytest.skip("the platform has no directory descriptors")
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "docs" / "a.md").write_bytes(b"inside")
    (root / "docs" / "deep" / "b.md").write_bytes(b"deeper")
    (root / "top.md").write_bytes(b"top")
    (tmp_path / "secret").write_bytes(b"outside")
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "x").write_bytes(b"outside")
    return root


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(FileAccessError) as caught:
        call()
    assert caught.value.reason
    return caught.value.kind


@pytest.mark.usefixtures("strategy")
class TestWhatMayBeRead:
    @pytest.mark.parametrize(
        ("path", "content"),
        [
            ("docs/a.md", b"inside"),
            ("./docs//a.md", b"inside"),
            ("docs/../top.md", b"top"),
            ("docs/deep/../a.md", b"inside"),
        ],
    )
    def test_a_path_inside_is_read(self, root: Path, path: str, content: bytes) -> None:
        assert read_below(root, path, max_bytes=100) == content

    def test_an_absolute_path_below_the_root_is_read(self, root: Path) -> None:
        assert read_below(root, root / "docs" / "a.md", max_bytes=100) == b"inside"

    @posix_only
    def test_the_roots_own_name_may_be_a_link(self, root: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(root)
        assert read_below(link, "docs/a.md", max_bytes=100) == b"inside"
        assert read_below(link, link / "docs" / "a.md", max_bytes=100) == b"inside"
        assert read_below(link, root / "docs" / "a.md", max_bytes=100) == b"inside"

    @posix_only
    def test_links_that_stay_inside_are_followed_on_request(self, root: Path) -> None:
        (root / "same").symlink_to("docs/a.md")
        (root / "dir").symlink_to(root / "docs")
        (root / "docs" / "up").symlink_to("../top.md")
        for path, content in (("same", b"inside"), ("dir/a.md", b"inside"), ("dir/up", b"top")):
            assert read_below(root, path, max_bytes=100, follow_links=True) == content
            assert kind_of(partial(read_below, root, path, max_bytes=100)) == "link_refused"

    def test_a_file_of_exactly_the_limit_is_read_and_a_larger_one_is_not(self, root: Path) -> None:
        assert read_below(root, "docs/a.md", max_bytes=6) == b"inside"
        assert kind_of(lambda: read_below(root, "docs/a.md", max_bytes=5)) == "too_large"

    def test_the_place_found_is_told_relative_to_the_root(self, root: Path) -> None:
        found = locate_below(root, "docs/deep/../a.md")
        assert (found.path, found.stat.st_size) == ("docs/a.md", 6)
        assert locate_below(root, "docs").path == "docs"
        assert locate_below(root, ".").path == "."


@pytest.mark.usefixtures("strategy")
class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "path", ["../secret", "docs/../../secret", "../root-evil/x", "docs/../../root/../secret", ".."]
    )
    def test_a_path_that_climbs_out_is_refused(self, root: Path, path: str) -> None:
        assert kind_of(lambda: read_below(root, path, max_bytes=100)) == "outside_root"

    def test_an_absolute_path_elsewhere_is_refused_even_when_its_name_begins_like_the_root(
        self, root: Path, tmp_path: Path
    ) -> None:
        for path in (tmp_path / "secret", tmp_path / "root-evil" / "x"):
            assert kind_of(partial(read_below, root, path, max_bytes=100)) == "outside_root"

    @posix_only
    @pytest.mark.parametrize("target", ["../secret", "absolute", "docs/../../secret"])
    def test_a_link_that_leads_out_is_refused_whether_links_are_followed_or_not(
        self, root: Path, tmp_path: Path, target: str
    ) -> None:
        (root / "out").symlink_to(str(tmp_path / "secret") if target == "absolute" else target)
        assert kind_of(lambda: read_below(root, "out", max_bytes=100)) == "link_refused"
        assert kind_of(lambda: read_below(root, "out", max_bytes=100, follow_links=True)) == "outside_root"

    @posix_only
    def test_a_directory_link_that_leads_out_is_refused(self, root: Path, tmp_path: Path) -> None:
        (root / "out").symlink_to(tmp_path)
        assert (
            kind_of(lambda: read_below(root, "out/secret", max_bytes=100, follow_links=True))
            == "outside_root"
        )

    @posix_only
    def test_a_cycle_of_links_ends(self, root: Path) -> None:
        (root / "ping").symlink_to("pong")
        (root / "pong").symlink_to("ping")
        assert kind_of(lambda: read_below(root, "ping", max_bytes=100, follow_links=True)) in {
            "link_refused",
            "not_found",  # what a resolved real path of a cycle looks like
            "unreadable",
        }

    @posix_only
    def test_a_fifo_is_refused_and_never_waited_for(self, root: Path) -> None:
        os.mkfifo(root / "pipe")
        assert kind_of(lambda: read_below(root, "pipe", max_bytes=100)) == "not_regular"
        assert kind_of(lambda: read_regular(root / "pipe", max_bytes=100)) == "not_regular"

    @posix_only
    def test_sockets_and_devices_are_refused(self, root: Path) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            try:
                server.bind(str(root / "sock"))
            except OSError:
                pytest.skip("the test directory's path is too long for a socket")
            assert kind_of(lambda: read_below(root, "sock", max_bytes=100)) == "not_regular"
        assert kind_of(lambda: read_regular("/dev/zero", max_bytes=100)) == "not_regular"
        (root / "zero").symlink_to("/dev/zero")
        assert kind_of(lambda: read_regular(root / "zero", max_bytes=100)) == "not_regular"

    def test_a_directory_is_not_a_file(self, root: Path) -> None:
        assert kind_of(lambda: read_below(root, "docs", max_bytes=100)) == "not_regular"
        assert kind_of(lambda: read_below(root, ".", max_bytes=100)) == "not_regular"

    def test_a_file_is_not_a_directory(self, root: Path) -> None:
        assert kind_of(lambda: read_below(root, "top.md/x", max_bytes=100)) == "not_found"

    def test_what_is_missing_is_told(self, root: Path) -> None:
        assert kind_of(lambda: read_below(root, "docs/none.md", max_bytes=100)) == "not_found"
        assert kind_of(lambda: read_below(root / "none", "a", max_bytes=100)) == "not_found"

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 40_000, "n" * 5_000])
    def test_what_is_no_path_is_refused(self, root: Path, path: str) -> None:
        assert kind_of(lambda: read_below(root, path, max_bytes=100)) in {"bad_path", "not_found"}

    @posix_only
    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_a_file_without_read_permission_is_denied(self, root: Path) -> None:
        (root / "top.md").chmod(0)
        assert kind_of(lambda: read_below(root, "top.md", max_bytes=100)) == "denied"

    def test_an_error_holds_no_part_of_the_path(self, root: Path) -> None:
        with pytest.raises(FileAccessError) as caught:
            read_below(root, "docs/canary-name.md", max_bytes=100)
        assert "canary" not in str(caught.value) + caught.value.reason + repr(caught.value)


@descriptors_only
class TestLinksExchangedDuringTheWalk:
    def test_a_directory_exchanged_for_a_link_after_the_check_is_not_followed(
        self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "a.md").write_bytes(b"outside")
        plain_open = os.open

        def open_after_exchange(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
            if path == "docs":
                (root / "docs").rename(root / "gone")
                (root / "docs").symlink_to(tmp_path / "elsewhere")
            return plain_open(path, flags, *rest, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", open_after_exchange)
        assert kind_of(lambda: read_below(root, "docs/a.md", max_bytes=100)) in {"link_refused", "not_found"}

    def test_a_file_exchanged_for_a_link_or_a_fifo_after_the_check_is_not_read(
        self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plain_open = os.open
        replacement: list[Callable[[Path], None]] = []

        def open_after_exchange(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
            if path == "a.md":
                (root / "docs" / "a.md").unlink()
                replacement[-1](root / "docs" / "a.md")
            return plain_open(path, flags, *rest, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", open_after_exchange)
        replacement.append(lambda place: place.symlink_to(tmp_path / "secret"))
        assert kind_of(lambda: read_below(root, "docs/a.md", max_bytes=100)) == "link_refused"
        (root / "docs" / "a.md").unlink()
        (root / "docs" / "a.md").write_bytes(b"again")
        replacement.append(os.mkfifo)
        assert kind_of(lambda: read_below(root, "docs/a.md", max_bytes=100)) == "not_regular"

    @pytest.mark.slow
    def test_an_attacker_who_swaps_without_pause_never_gets_a_byte_out(
        self, root: Path, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "a.md").write_bytes(b"outside")
        stop = threading.Event()

        def swap() -> None:
            while not stop.is_set():
                (root / "docs").rename(root / "held")
                (root / "docs").symlink_to(elsewhere)
                (root / "docs").unlink()
                (root / "held").rename(root / "docs")

        attacker = threading.Thread(target=swap)
        attacker.start()
        seen: set[bytes | str] = set()
        try:
            for follow in [False, True] * 1_500:
                try:
                    seen.add(read_below(root, "docs/a.md", max_bytes=100, follow_links=follow))
                except FileAccessError as error:
                    seen.add(error.kind)
        finally:
            stop.set()
            attacker.join()
        assert b"outside" not in seen
        assert seen <= {b"inside", "link_refused", "not_found", "outside_root"}


@pytest.fixture
def open_descriptors() -> Callable[[], int]:
    if not Path("/proc/self/fd").exists():
        pytest.skip("counts open files through /proc")
    return lambda: len(os.listdir("/proc/self/fd"))


def test_no_descriptor_is_left_open_by_success_or_refusal(
    root: Path, open_descriptors: Callable[[], int]
) -> None:
    (root / "out").symlink_to("/etc")
    before = open_descriptors()
    for path in ("docs/deep/b.md", "docs/../../x", "docs/none", "docs", "out/passwd", "top.md/x"):
        for follow in (False, True):
            try:
                read_below(root, path, max_bytes=3, follow_links=follow)
            except FileAccessError:
                pass
    assert open_descriptors() == before


def test_a_file_that_grows_while_it_is_read_is_still_bounded(root: Path) -> None:
    with open_below(root, "docs/a.md", max_bytes=10) as stream:
        (root / "docs" / "a.md").write_bytes(b"x" * 1000)
        assert kind_of(lambda: files._read_all(stream, 10)) == "too_large"


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "docs", "deep", "a.md", "", "out", "in", "~", "secret"]), max_size=8
    )
)
def test_no_combination_of_components_reads_what_lies_outside(root: Path, parts: list[str]) -> None:
    if os.name != "nt" and not (root / "out").is_symlink():
        (root / "out").symlink_to("..")
        (root / "in").symlink_to("docs/deep")
    for follow in (False, True):
        try:
            assert read_below(root, "/".join(parts), max_bytes=100, follow_links=follow) in {
                b"inside",
                b"deeper",
            }
        except FileAccessError:
            pass


@pytest.mark.usefixtures("strategy")
class TestWalking:
    def test_files_are_listed_in_order_without_directories(self, root: Path) -> None:
        assert [found.path for found in walk_below(root, max_entries=100)] == [
            "top.md",
            "docs/a.md",
            "docs/deep/b.md",
        ]
        assert [found.path for found in walk_below(root, "docs/deep", max_entries=100)] == ["docs/deep/b.md"]

    @posix_only
    def test_links_are_listed_and_not_followed(self, root: Path) -> None:
        (root / "docs" / "loop").symlink_to("..")
        assert "docs/loop" in [found.path for found in walk_below(root, max_entries=100)]

    def test_entries_and_depth_are_bounded(self, root: Path) -> None:
        assert kind_of(lambda: list(walk_below(root, max_entries=3))) == "too_many_entries"
        assert kind_of(lambda: list(walk_below(root, max_entries=100, max_depth=1))) == "too_many_entries"

    def test_a_start_that_is_no_directory_is_told(self, root: Path) -> None:
        assert kind_of(lambda: list(walk_below(root, "top.md", max_entries=9))) == "not_directory"
        assert kind_of(lambda: list(walk_below(root, "../", max_entries=9))) == "outside_root"


def test_importing_the_room_loads_no_framework() -> None:
    script = (
        "import sys, mcpkit.files;"
        "print(sorted(m for m in ('fastmcp', 'pydantic', 'anyio', 'git', 'asyncio') if m in sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert answer.stdout.strip() == b"[]"


def test_reading_a_small_file_sets_no_memory_aside_for_the_largest(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 100)
    tracemalloc.start()
    try:
        assert read_below(tmp_path, "small", max_bytes=1 << 40) == b"x" * 100
        assert read_regular(tmp_path / "small", max_bytes=1 << 40) == b"x" * 100
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="files without a size are those of Linux")
def test_a_file_that_tells_no_size_is_read_whole_or_refused() -> None:
    assert b"VmPeak" in read_regular("/proc/self/status", max_bytes=100_000)
    with pytest.raises(FileAccessError) as caught:
        read_regular("/proc/self/status", max_bytes=100)
    assert caught.value.kind == "too_large"
