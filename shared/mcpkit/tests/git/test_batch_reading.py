"""Many objects through one process: what `git show` shows, in order, within limits, whatever lies between."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpkit.git import GitError, Limits, Repository
from mcpkit.git import batch as batch_module

Git = Callable[..., bytes]


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(GitError) as caught:
        call()
    return caught.value.kind


def stored(git: Git, repository: Path, data: bytes, kind: str = "blob") -> str:
    return (
        git(repository, "hash-object", "-w", "--stdin", "-t", kind, "--literally", data=data).decode().strip()
    )


def outcome(answer: bytes | GitError) -> bytes | str:
    return answer.kind if isinstance(answer, GitError) else answer


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.binary(max_size=300) | st.sampled_from([b"", b"\n", b"x" * 70_000]), max_size=12))
def test_contents_are_what_git_show_shows(sha1_repository: Path, git: Git, contents: list[bytes]) -> None:
    oids = [stored(git, sha1_repository, content) for content in contents]
    opened = Repository.open(sha1_repository)
    with opened.blobs() as reader:
        assert [reader.read(oid) for oid in oids] == contents
        assert [reader.header(oid) for oid in oids] == [("blob", len(content)) for content in contents]
        assert list(reader.read_many(oids)) == list(zip(oids, contents, strict=True))
    assert [git(sha1_repository, "show", oid) for oid in oids[:3]] == contents[:3]


def test_both_object_formats_are_read(repository: Path, git: Git) -> None:
    oid = stored(git, repository, b"content")
    with Repository.open(repository).blobs() as reader:
        assert reader.read(oid) == b"content"
        other = oid + "0" * 24 if len(oid) == 40 else oid[:40]
        assert kind_of(lambda: reader.read(other)) == "bad_argument"


class TestLimits:
    # Small enough to be drained, large enough for a new process, both sides of the border.
    SIZES = (11, 5_000, batch_module._DRAIN_BYTES, batch_module._DRAIN_BYTES + 1, 9 << 20)

    def test_what_is_too_large_is_passed_over_and_the_rest_is_read(
        self, sha1_repository: Path, git: Git
    ) -> None:
        small = [stored(git, sha1_repository, b"small %d" % number) for number in range(100)]
        large = [stored(git, sha1_repository, b"L" * size) for size in self.SIZES]
        missing = "1" * 40
        order: list[str] = []
        for number, oid in enumerate(small):
            order += [
                oid,
                *([large[number % len(large)]] if number % 7 == 0 else []),
                *([missing] if number % 11 == 0 else []),
            ]
        with Repository.open(sha1_repository).blobs(max_bytes=10) as reader:
            answers = list(reader.read_many(order))
            assert [oid for oid, _ in answers] == order
            for oid, answer in answers:
                if oid in small:
                    assert answer == b"small %d" % small.index(oid)
                else:
                    assert outcome(answer) == ("missing_object" if oid == missing else "object_too_large")
            for oid in large:
                assert kind_of(lambda oid=oid: reader.read(oid)) == "object_too_large"  # type: ignore[misc]
                assert reader.read(small[0]) == b"small 0"
            assert reader.header(large[-1]).size == 9 << 20
            assert len(reader.read(large[-1], max_bytes=9 << 20)) == 9 << 20

    def test_what_is_too_large_is_never_in_memory(self, sha1_repository: Path, git: Git) -> None:
        oids = [stored(git, sha1_repository, b"x" * size) for size in (batch_module._DRAIN_BYTES, 40 << 20)]
        opened = Repository.open(sha1_repository)
        tracemalloc.start()
        try:
            with opened.blobs(max_bytes=1000) as reader:
                assert [outcome(answer) for _, answer in reader.read_many(oids)] == ["object_too_large"] * 2
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2 << 20

    def test_a_content_of_exactly_the_limit_is_read(self, sha1_repository: Path, git: Git) -> None:
        oid = stored(git, sha1_repository, b"1234567890")
        with Repository.open(sha1_repository).blobs(max_bytes=10) as reader:
            assert reader.read(oid) == b"1234567890"
            assert kind_of(lambda: reader.read(oid, max_bytes=9)) == "object_too_large"


class TestWhatIsAskedFor:
    def test_another_type_than_expected_is_an_error_and_the_order_is_kept(
        self, sha1_repository: Path, git: Git, commit_files: Callable[..., str]
    ) -> None:
        commit = commit_files(sha1_repository, {"a": b"content"})
        blob = git(sha1_repository, "rev-parse", "HEAD:a").decode().strip()
        tree = git(sha1_repository, "rev-parse", "HEAD^{tree}").decode().strip()
        with Repository.open(sha1_repository).blobs() as reader:
            assert kind_of(lambda: reader.read(commit)) == "wrong_type"
            assert reader.read(blob) == b"content"
            assert reader.header(tree).type == "tree"
            assert reader.read(commit, expect="commit").startswith(b"tree ")
            assert reader.read(tree, expect=None).startswith(b"100644 a\0")
            assert [outcome(answer) for _, answer in reader.read_many([tree, blob, commit])] == [
                "wrong_type",
                b"content",
                "wrong_type",
            ]

    @pytest.mark.parametrize("oid", ["HEAD", "abc1234", "main:a", "a\nb", "", "1" * 39, "1" * 41, "A" * 40])
    def test_only_full_ids_are_taken(self, sha1_repository: Path, git: Git, oid: str) -> None:
        good = stored(git, sha1_repository, b"good")
        with Repository.open(sha1_repository).blobs() as reader:
            assert kind_of(lambda: reader.read(oid)) == "bad_argument"
            assert kind_of(lambda: reader.header(oid)) == "bad_argument"
            assert kind_of(lambda: list(reader.read_many([good, oid]))) == "bad_argument"
            assert reader.read(good) == b"good"

    def test_a_reading_broken_off_does_not_disturb_the_next(self, sha1_repository: Path, git: Git) -> None:
        oids = [stored(git, sha1_repository, b"%d" % number) for number in range(80)]
        with Repository.open(sha1_repository).blobs() as reader:
            for _, answer in reader.read_many(oids):
                assert answer == b"0"
                break
            assert reader.read(oids[70]) == b"70"
            assert [answer for _, answer in reader.read_many(oids)] == [
                b"%d" % number for number in range(80)
            ]

    def test_a_closed_reader_reads_no_more(self, sha1_repository: Path, git: Git) -> None:
        oid = stored(git, sha1_repository, b"x")
        with Repository.open(sha1_repository).blobs() as reader:
            pass
        assert kind_of(lambda: reader.read(oid)) == "bad_argument"

    def test_a_damaged_object_is_a_coded_error_and_the_reader_goes_on(
        self, sha1_repository: Path, git: Git
    ) -> None:
        good, bad = stored(git, sha1_repository, b"good"), stored(git, sha1_repository, b"bad" * 100)
        place = sha1_repository / ".git" / "objects" / bad[:2] / bad[2:]
        place.chmod(0o644)
        place.write_bytes(place.read_bytes()[:-10] + b"rubbish!!!")
        with Repository.open(sha1_repository).blobs() as reader:
            assert kind_of(lambda: reader.read(bad)) in {"git_failed", "missing_object"}
            assert reader.read(good) == b"good"


class TestEnding:
    def test_no_process_is_left_by_any_way_out(self, sha1_repository: Path, git: Git) -> None:
        oids = [stored(git, sha1_repository, b"%d" % number) for number in range(50)]
        opened = Repository.open(sha1_repository)
        before = {child.pid for child in psutil.Process().children(recursive=True)}

        def leave_in_the_middle() -> None:
            with opened.blobs() as reader:
                for _ in reader.read_many(oids):
                    raise KeyError

        with opened.blobs() as reader:
            reader.read(oids[0])
            reader.header(oids[0])
            assert len(psutil.Process().children(recursive=True)) >= len(before) + 2
        with pytest.raises(KeyError):
            leave_in_the_middle()
        assert {child.pid for child in psutil.Process().children(recursive=True)} <= before

    def test_a_cancelled_reading_ends_and_says_so(self, sha1_repository: Path, git: Git) -> None:
        oids = [stored(git, sha1_repository, b"%d" % number) for number in range(10)]
        cancelled = threading.Event()
        opened = Repository.open(sha1_repository).bounded(cancel=cancelled.is_set)
        with opened.blobs() as reader:
            assert reader.read(oids[0]) == b"0"
            cancelled.set()
            assert kind_of(lambda: [reader.read(oid) for oid in oids * 20_000]) == "cancelled"

    @pytest.mark.skipif(os.name == "nt", reason="stops a process with a signal")
    def test_a_git_that_hangs_in_the_middle_of_an_answer_is_ended(
        self, sha1_repository: Path, git: Git
    ) -> None:
        oid = stored(git, sha1_repository, b"x")
        opened = Repository.open(sha1_repository).bounded(limits=Limits(timeout=0.3))
        with opened.blobs() as reader:
            assert reader.read(oid) == b"x"
            (child,) = psutil.Process().children()
            child.suspend()
            assert kind_of(lambda: reader.read(oid)) == "timeout"
            assert not child.is_running()
            assert reader.read(oid) == b"x"

    def test_a_git_that_dies_is_noticed_and_replaced(self, sha1_repository: Path, git: Git) -> None:
        oid = stored(git, sha1_repository, b"x")
        with Repository.open(sha1_repository).blobs() as reader:
            assert reader.read(oid) == b"x"
            for child in psutil.Process().children():
                child.kill()
                child.wait(10)
            assert kind_of(lambda: reader.read(oid)) == "git_failed"
            assert reader.read(oid) == b"x"


def test_objects_that_a_partial_clone_lacks_are_missing_and_the_rest_is_read(
    tmp_path: Path, git: Git, sha1_repository: Path
) -> None:
    for number in range(6):
        (sha1_repository / f"{number}.txt").write_bytes(b"text %d" % number)
    git(sha1_repository, "add", "--all")
    git(sha1_repository, "commit", "--quiet", "-m", "texts")
    git(sha1_repository, "config", "uploadpack.allowFilter", "true")
    copy = tmp_path / "copy"
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--no-checkout",
        "--filter=blob:none",
        sha1_repository.as_uri(),
        str(copy),
    )
    git(copy, "checkout", "--quiet", "HEAD", "--", "1.txt", "4.txt")
    oids = [git(copy, "rev-parse", f"HEAD:{number}.txt").decode().strip() for number in range(6)]
    with Repository.open(copy).blobs() as reader:
        answers = [outcome(answer) for _, answer in reader.read_many(oids)]
        assert answers == ["missing_object", b"text 1", *["missing_object"] * 2, b"text 4", "missing_object"]
        assert kind_of(lambda: reader.read(oids[0])) == "missing_object"
        assert reader.read(oids[1]) == b"text 1"
        assert kind_of(lambda: reader.header(oids[2])) == "missing_object"
        assert reader.header(oids[4]).size == 6
    count = git(copy, "count-objects", "-v")
    assert b"in-pack: 4" in count or b"in-pack: 2" in count  # nothing was fetched meanwhile
