"""A later request sees every change, by file status and the rule for racily clean files."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mergeway_mcp.repository import Repository, RepositoryError
from mergeway_mcp.repository.freshness import RACY_NS, is_racy
from mergeway_mcp.repository.reading import FileSystem

SECOND = 1_000_000_000
CONFIG = (
    "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: [d/*.yaml], fields: {id: string}}\n"
)
Write = Callable[[Mapping[str, str | bytes]], Path]


class VirtualDisk:
    """The real disk with a clock of its own and file times no finer than a grain.

    Whoever changes a file calls `stamp` for it; the change time follows the modification time.
    """

    def __init__(self, grain: int) -> None:
        self.grain = grain
        self.now = 1_000_000 * SECOND
        self.asked: list[str] = []
        self.listed: list[str] = []

    def stamp(self, *paths: Path) -> None:
        moment = self.now // self.grain * self.grain
        for path in paths:
            os.utime(path, ns=(moment, moment))

    def _coarse(self, status: os.stat_result) -> os.stat_result:
        return os.stat_result(
            (*status[:8], status[8], status[8]),
            {
                "st_mtime_ns": status.st_mtime_ns,
                "st_ctime_ns": status.st_mtime_ns,
                "st_atime_ns": status.st_atime_ns,
            },
        )

    def _stat(self, path: str) -> os.stat_result:
        self.asked.append(path)
        return self._coarse(os.stat(path))

    def _listdir(self, path: str) -> Sequence[str]:
        self.listed.append(path)
        return os.listdir(path)

    @property
    def system(self) -> FileSystem:
        return FileSystem(
            stat=self._stat,
            fstat=lambda descriptor: self._coarse(os.fstat(descriptor)),
            listdir=self._listdir,
            now_ns=lambda: self.now,
        )


class Stage:
    """A repository on a virtual disk."""

    def __init__(self, root: Path, grain: int = 2 * SECOND) -> None:
        self.root = root
        self.disk = VirtualDisk(grain)
        self.disk.stamp(*root.rglob("*"), root)
        self.repository = Repository(str(root), system=self.disk.system)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.write_text(text, encoding="utf-8", newline="\n")
        self.disk.stamp(path, path.parent)

    def value(self) -> Any:
        return self.repository.snapshot().get("K", "a")["fields"]["v"]


@pytest.fixture
def stage(write_repository: Write) -> Stage:
    return Stage(write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: a\nv: 1\n"}))


def test_an_edit_of_the_same_size_in_the_same_tick_is_seen(stage: Stage) -> None:
    assert stage.value() == 1
    stage.write("d/a.yaml", "id: a\nv: 2\n")
    assert stage.value() == 2


def test_such_an_edit_is_seen_after_every_further_edit(stage: Stage) -> None:
    for value in (3, 4, 5, 3, 4):
        stage.write("d/a.yaml", f"id: a\nv: {value}\n")
        assert stage.value() == value


def test_a_settled_repository_is_asked_for_status_only(stage: Stage) -> None:
    stage.disk.now += 3 * RACY_NS
    first = stage.repository.snapshot()
    stage.disk.asked.clear()
    stage.disk.listed.clear()
    assert stage.repository.snapshot() is first
    assert not stage.disk.listed
    assert sorted(stage.disk.asked) == sorted(
        str(stage.root / name) for name in ("mergeway.yaml", "d", "d/a.yaml")
    )


def test_a_young_file_is_compared_by_content_only_until_it_is_old(stage: Stage) -> None:
    first = stage.repository.snapshot()
    stage.disk.now += 3 * RACY_NS
    assert stage.repository.snapshot() is first  # the same content, read once more
    stage.disk.asked.clear()
    assert stage.repository.snapshot() is first
    assert len(stage.disk.asked) == 3


def test_a_file_replaced_by_rename_with_the_same_times_and_size_is_seen(stage: Stage) -> None:
    stage.disk.now += 3 * RACY_NS
    assert stage.value() == 1
    (stage.root / "new").write_text("id: a\nv: 2\n", encoding="utf-8", newline="\n")
    shutil.copystat(stage.root / "d/a.yaml", stage.root / "new")
    os.replace(stage.root / "new", stage.root / "d/a.yaml")
    assert stage.value() == 2


def test_a_link_turned_to_another_file_is_seen(write_repository: Write, links_work: bool) -> None:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    root = write_repository({"mergeway.yaml": CONFIG, "x": "id: a\nv: 1\n", "y": "id: a\nv: 2\n"})
    (root / "d").mkdir()
    (root / "d/a.yaml").symlink_to("../x")
    stage = Stage(root)
    stage.disk.now += 3 * RACY_NS
    assert stage.value() == 1
    (root / "d/a.yaml").unlink()
    (root / "d/a.yaml").symlink_to("../y")
    assert stage.value() == 2


def test_a_dangling_link_whose_target_appears_is_seen(write_repository: Write, links_work: bool) -> None:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    root = write_repository({"mergeway.yaml": CONFIG})
    (root / "d").mkdir()
    (root / "d/a.yaml").symlink_to("../x")
    stage = Stage.__new__(Stage)
    stage.root, stage.disk = root, VirtualDisk(SECOND)
    stage.repository = Repository(str(root), system=stage.disk.system)
    assert stage.repository.snapshot().objects("K") == []
    (root / "x").write_text("id: a\nv: 7\n", encoding="utf-8")
    assert stage.value() == 7


def test_a_file_added_to_a_young_folder_in_the_same_tick_is_seen(stage: Stage) -> None:
    assert len(stage.repository.snapshot().objects("K")) == 1
    stage.write("d/b.yaml", "id: b\n")
    assert len(stage.repository.snapshot().objects("K")) == 2


@pytest.mark.parametrize("name", ["schema.json", "part.yaml"])
def test_what_the_configuration_rests_on_is_watched_like_it(write_repository: Write, name: str) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\ninclude: ['p*.yaml']\n",
        "part.yaml": "mergeway: {version: 1}\nentities:\n"
        "  K: {identifier: id, description: one, json_schema: schema.json, include: [d/*.yaml]}\n",
        "schema.json": '{"properties": {"id": {"type": "string", "description": "one"}}}',
    })
    stage = Stage(root)
    before = stage.repository.snapshot().entity_schema("K")
    stage.write(name, (root / name).read_text(encoding="utf-8").replace("one", "two"))
    after = stage.repository.snapshot().entity_schema("K")
    assert before != after


def test_a_configuration_file_that_an_include_pattern_now_matches_is_seen(write_repository: Write) -> None:
    part = (
        "mergeway: {version: 1}\nentities:\n  NAME: {identifier: id, data: [{id: 1}], fields: {id: string}}\n"
    )
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\ninclude: ['p*.yaml']\n",
        "p1.yaml": part.replace("NAME", "A"),
    })
    stage = Stage(root)
    assert stage.repository.snapshot().entity_names() == ["A"]
    stage.write("p2.yaml", part.replace("NAME", "B"))
    assert stage.repository.snapshot().entity_names() == ["A", "B"]


def test_what_did_not_change_is_not_parsed_again(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": CONFIG,
        "d/a.yaml": "id: a\nv: 1\n",
        "d/b.yaml": "id: b\nv: [1]\n",
    })
    stage = Stage(root)
    before = stage.repository.snapshot()._records["K"].files
    stage.write("d/a.yaml", "id: a\nv: 2\n")
    after = stage.repository.snapshot()._records["K"].files
    assert (before[0] is after[0], before[1] is after[1]) == (False, True)


def test_a_change_of_the_configuration_that_reads_records_alike_does_not_parse_them_again(
    stage: Stage,
) -> None:
    before = stage.repository.snapshot()._records["K"].files
    stage.write("mergeway.yaml", CONFIG.replace("fields: {id: string}", "fields: {id: string, v: integer}"))
    after = stage.repository.snapshot()
    assert after._records["K"].files[0] is before[0]
    assert after.entity_schema("K")["FieldOrder"] == ["id", "v"]


def test_a_change_of_the_identifier_names_the_same_records_anew(stage: Stage) -> None:
    assert stage.repository.snapshot().objects("K")[0]["id"] == "a"
    stage.write("mergeway.yaml", CONFIG.replace("identifier: id", "identifier: v"))
    assert stage.repository.snapshot().objects("K")[0]["id"] == "1"


def test_two_entities_that_read_one_file_see_one_state_of_it(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  A: {identifier: id, include: [f.yaml], fields: {id: string}}\n"
        "  B: {identifier: id, include: [{path: f.yaml, selector: $.x}], fields: {id: string}}\n",
        "f.yaml": "id: '0'\nx: {id: '0'}\n",
    })
    disk = VirtualDisk(SECOND)
    reads = 0

    def fstat_and_write_after_the_read(descriptor: int) -> os.stat_result:
        nonlocal reads
        status = disk._coarse(os.fstat(descriptor))
        if status.st_size < 100:
            reads += 1
            if (
                reads % 2 == 0
            ):  # the file has just been read in a steady state; it changes before the next reading
                (root / "f.yaml").write_text(f"id: '{reads}'\nx: {{id: '{reads}'}}\n", encoding="utf-8")
        return status

    repository = Repository(str(root), system=disk.system._replace(fstat=fstat_and_write_after_the_read))
    for _ in range(5):
        snapshot = repository.snapshot()
        assert snapshot.objects("A")[0]["id"] == snapshot.objects("B")[0]["id"]


def test_a_file_that_never_holds_still_between_two_readings_is_an_error_that_says_so(
    write_repository: Write,
) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: a\nv: 0\n"})
    stage = Stage(root)
    stage.disk.now += 3 * RACY_NS
    stage.repository.snapshot()
    stage.write("mergeway.yaml", CONFIG.replace("identifier: id", "identifier: v"))
    reads = itertools.count()

    def stat_of_what_is_no_more(descriptor: int) -> os.stat_result:
        # Whatever was asked for by path a moment ago, the open file is of another state by now.
        status = stage.disk._coarse(os.fstat(descriptor))
        moved = list(status)
        if status.st_size == (root / "d/a.yaml").stat().st_size:
            return os.stat_result(
                moved,
                {"st_mtime_ns": 1 + next(reads) // 2, "st_ctime_ns": 1, "st_atime_ns": 1},
            )
        return status

    stage.repository._disk.system = stage.disk.system._replace(fstat=stat_of_what_is_no_more)
    with pytest.raises(RepositoryError) as caught:
        stage.repository.snapshot()
    assert caught.value.file is None
    stage.repository._disk.system = stage.disk.system
    assert stage.repository.snapshot().objects("K")[0]["id"] == "0"


def test_a_record_file_that_vanishes_between_two_readings_is_looked_for_again(
    write_repository: Write,
) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: a\n", "d/b.yaml": "id: b\n"})
    stage = Stage(root)
    stage.disk.now += 3 * RACY_NS
    stage.repository.snapshot()
    stage.write("mergeway.yaml", CONFIG.replace("fields: {id: string}", "fields: {id: enum}"))
    stage.write("mergeway.yaml", CONFIG.replace("fields: {id: string}", "fields: {id: integer}"))

    def stat_then_remove(path: str) -> os.stat_result:
        status = stage.disk._stat(path)
        if path.endswith("b.yaml"):
            os.unlink(path)
        return status

    (root / "d/a.yaml").write_text("id: 1\n", encoding="utf-8")
    stage.repository._disk.system = stage.disk.system._replace(stat=stat_then_remove)
    assert [entry["id"] for entry in stage.repository.snapshot().objects("K")] == ["1"]


@pytest.mark.skipif(
    os.name == "nt" or getattr(os, "geteuid", lambda: 0)() == 0, reason="root lists everything"
)
def test_a_folder_that_may_not_be_listed_holds_no_matches(stage: Stage) -> None:
    (stage.root / "d").chmod(0)
    try:
        assert stage.repository.snapshot().objects("K") == []
    finally:
        (stage.root / "d").chmod(0o755)


def test_folders_that_cannot_be_listed_hold_no_matches(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: a\n"})

    def refused(path: str) -> Sequence[str]:
        raise PermissionError(13, "no")

    assert Repository(str(root), system=FileSystem(listdir=refused)).snapshot().objects("K") == []


def test_the_state_token_follows_the_files_and_nothing_else(stage: Stage) -> None:
    stage.disk.now += 3 * RACY_NS
    token = stage.repository.snapshot().state_token
    assert stage.repository.snapshot().state_token == token
    assert Repository(str(stage.root), system=stage.disk.system).snapshot().state_token == token
    stage.write("unrelated.txt", "x")
    assert stage.repository.snapshot().state_token == token
    stage.write("d/a.yaml", "id: a\nv: 2\n")
    changed = stage.repository.snapshot().state_token
    assert changed != token
    stage.write("d/a.yaml", "id: a\nv: 3\n")  # the same tick, the same size
    assert stage.repository.snapshot().state_token not in {token, changed}
    stage.write("d/b.yaml", "id: b\n")
    more = stage.repository.snapshot().state_token
    (stage.root / "d/b.yaml").unlink()
    stage.disk.stamp(stage.root / "d")
    assert stage.repository.snapshot().state_token != more


def test_a_state_is_racy_until_it_is_two_seconds_old() -> None:
    moment = 1_000 * SECOND
    key = (moment, moment, 1, 1, 1)
    assert is_racy(key, moment + 2 * SECOND - 1)
    assert not is_racy(key, moment + 2 * SECOND)
    assert is_racy(key, moment - 3_600 * SECOND)  # a file from the future never settles


@pytest.mark.skipif(os.name == "nt", reason="Windows reports the creation time in place of the change time")
def test_a_change_time_makes_a_state_racy_even_where_the_modification_time_was_set_back() -> None:
    assert is_racy((SECOND, 1_000 * SECOND, 1, 1, 1), 1_001 * SECOND)


CONFIGURATIONS = (
    CONFIG,
    CONFIG.replace("d/*.yaml", "'*/*.yaml'"),
    CONFIG.replace("identifier: id", "identifier: $path"),
    CONFIG.replace("[d/*.yaml]", "[{path: d/*.yaml, selector: '$.items[*]'}]"),
    CONFIG + "  L: {extends: K, include: [e/*.yaml]}\n",
    CONFIG + "  M: {identifier: id, include: [d/a.yaml, e/*], data: [{id: '1'}], fields: {id: string}}\n",
    CONFIG.replace("version: 1", "version: 2"),
    "mergeway: [\n",
)
CONTENTS = (
    "id: '1'\nv: 1\n",
    "id: '1'\nv: 2\n",
    "id: '2'\nv: 1\n",
    "id: '3'\nv: x\n",
    "items: [{id: '1'}, {id: '4'}]\n",
    "items: [{id: '5'}, {id: '4'}]\n",
    "id: [\n",
    "",
)
NAMES = ("d/a.yaml", "d/b.yaml", "e/a.yaml", "e/c.yaml")


class ReloadMachine(RuleBasedStateMachine):
    """Random changes, in any order and at any pace; after each, what is served is what a fresh load would serve."""

    @initialize(grain=st.sampled_from([1, SECOND, 2 * SECOND]))
    def start(self, grain: int) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp()))
        (self.folder / "mergeway.yaml").write_text(CONFIG, encoding="utf-8")
        for folder in ("d", "e"):
            (self.folder / folder).mkdir()
        self.stage = Stage(self.folder, grain)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(name=st.sampled_from(NAMES), content=st.sampled_from(CONTENTS))
    def write(self, name: str, content: str) -> None:
        self.stage.write(name, content)

    @rule(content=st.sampled_from(CONFIGURATIONS))
    def configure(self, content: str) -> None:
        self.stage.write("mergeway.yaml", content)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        path = self.folder / name
        if path.exists():
            path.unlink()
            self.stage.disk.stamp(path.parent)

    @rule(old=st.sampled_from(NAMES), new=st.sampled_from(NAMES))
    def rename(self, old: str, new: str) -> None:
        if (self.folder / old).exists():
            os.replace(self.folder / old, self.folder / new)
            self.stage.disk.stamp((self.folder / old).parent, (self.folder / new).parent)

    @rule(name=st.sampled_from(NAMES))
    def touch(self, name: str) -> None:
        if (self.folder / name).exists():
            self.stage.disk.stamp(self.folder / name)

    @rule()
    def swap_folders(self) -> None:
        os.rename(self.folder / "d", self.folder / "x")
        os.rename(self.folder / "e", self.folder / "d")
        os.rename(self.folder / "x", self.folder / "e")
        self.stage.disk.stamp(self.folder)

    @rule(nanoseconds=st.integers(0, 3 * SECOND))
    def wait(self, nanoseconds: int) -> None:
        self.stage.disk.now += nanoseconds

    @rule()
    def look_again(self) -> None:
        """A request without a change, so that several see the same state."""

    @invariant()
    def serves_what_a_fresh_load_serves(self) -> None:
        assert seen(self.stage.repository) == seen(Repository(str(self.folder)))


def seen(repository: Repository) -> Any:
    """All there is to see of a repository, or the error that hides it."""
    try:
        snapshot = repository.snapshot()
    except RepositoryError as error:
        return error.message
    try:
        fields: Any = snapshot.export()
    except RepositoryError as error:
        fields = error.message
    names = snapshot.entity_names()
    return names, fields, [snapshot.objects(name) for name in names], snapshot.files()


ReloadMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestReloadMachine = ReloadMachine.TestCase
