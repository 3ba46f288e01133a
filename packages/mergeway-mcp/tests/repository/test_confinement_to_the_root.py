"""With confinement nothing outside the root is read, however it is reached; without it, it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError
from mergeway_mcp.repository.confinement import Confinement, is_within
from mergeway_mcp.repository.reading import FileSystem, ReadFault

Write = Callable[[Mapping[str, str | bytes]], Path]
ENTITY = "  {name}: {{identifier: id, include: ['{include}'], fields: {{id: string}}}}\n"


def config(include: str, extra: str = "") -> str:
    return "mergeway: {version: 1}\n" + extra + "entities:\n" + ENTITY.format(name="K", include=include)


@pytest.fixture
def place(write_repository: Write, links_work: bool) -> Path:
    if not links_work:
        pytest.skip("symbolic links cannot be made here")
    root = write_repository({"mergeway.yaml": config("d/*.yaml"), "d/in.yaml": "id: in\n"})
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "out.yaml").write_text("id: secret\n", encoding="utf-8")
    (outside / "part.conf").write_text("mergeway: {version: 1}\n", encoding="utf-8")
    (outside / "schema.json").write_text('{"properties": {"id": {"type": "string"}}}', encoding="utf-8")
    return root


def ids(repository: Repository) -> list[str]:
    return [entry["id"] for entry in repository.snapshot().objects("K")]


def link_to_a_file(root: Path) -> None:
    (root / "d/x.yaml").symlink_to("../../outside/out.yaml")


def link_to_a_folder(root: Path) -> None:
    (root / "e").symlink_to("../outside")
    (root / "mergeway.yaml").write_text(config("e/*.yaml"), encoding="utf-8")


def link_to_a_folder_below_a_star(root: Path) -> None:
    (root / "d/sub").symlink_to("../../outside")
    (root / "mergeway.yaml").write_text(config("d/*/out.yaml"), encoding="utf-8")


def named_file_behind_a_link(root: Path) -> None:
    (root / "e").symlink_to("../outside")
    (root / "mergeway.yaml").write_text(config("e/out.yaml"), encoding="utf-8")


def include_written_with_dots(root: Path) -> None:
    (root / "mergeway.yaml").write_text(config("../outside/*.yaml"), encoding="utf-8")


def absolute_include(root: Path) -> None:
    (root / "mergeway.yaml").write_text(
        config((root.parent / "outside/out.yaml").as_posix()), encoding="utf-8"
    )


def configuration_include(root: Path) -> None:
    (root / "mergeway.yaml").write_text(config("d/*", "include: [../outside/part.conf]\n"), encoding="utf-8")


def configuration_include_behind_a_link(root: Path) -> None:
    (root / "part.conf").symlink_to("../outside/part.conf")
    (root / "mergeway.yaml").write_text(config("d/*", "include: [part.conf]\n"), encoding="utf-8")


def configuration_pattern_behind_a_link(root: Path) -> None:
    (root / "parts").symlink_to("../outside")
    (root / "mergeway.yaml").write_text(config("d/*", "include: ['parts/p*']\n"), encoding="utf-8")


def json_schema_with_dots(root: Path) -> None:
    text = config("d/*").replace("fields: {id: string}", "json_schema: ../outside/schema.json")
    (root / "mergeway.yaml").write_text(text, encoding="utf-8")


def json_schema_behind_a_link(root: Path) -> None:
    (root / "schema.json").symlink_to("../outside/schema.json")
    text = config("d/*").replace("fields: {id: string}", "json_schema: schema.json")
    (root / "mergeway.yaml").write_text(text, encoding="utf-8")


def entry_file_behind_a_link(root: Path) -> None:
    os.replace(root / "mergeway.yaml", root.parent / "outside/mergeway.yaml")
    (root / "mergeway.yaml").symlink_to("../outside/mergeway.yaml")


WAYS_OUT = [
    link_to_a_file,
    link_to_a_folder,
    link_to_a_folder_below_a_star,
    named_file_behind_a_link,
    include_written_with_dots,
    absolute_include,
    configuration_include,
    configuration_include_behind_a_link,
    configuration_pattern_behind_a_link,
    json_schema_with_dots,
    json_schema_behind_a_link,
    entry_file_behind_a_link,
]


@pytest.mark.parametrize("way_out", WAYS_OUT, ids=lambda way: way.__name__)
def test_a_way_out_is_refused(place: Path, way_out: Callable[[Path], None]) -> None:
    way_out(place)
    Repository(str(place)).snapshot()
    with pytest.raises(RepositoryError):
        Repository(str(place), confine=True).snapshot()


@pytest.mark.parametrize("way_out", WAYS_OUT, ids=lambda way: way.__name__)
def test_a_way_out_that_opens_later_is_refused(place: Path, way_out: Callable[[Path], None]) -> None:
    repository = Repository(str(place), confine=True)
    assert ids(repository) == ["in"]
    way_out(place)
    with pytest.raises(RepositoryError):
        repository.snapshot()


def test_a_folder_moved_outside_and_linked_back_is_refused_although_no_file_changed(place: Path) -> None:
    repository = Repository(str(place), confine=True)
    assert ids(repository) == ["in"]
    os.replace(place / "d", place.parent / "outside/d")
    (place / "d").symlink_to("../outside/d")
    with pytest.raises(RepositoryError):
        repository.snapshot()


def test_links_within_the_root_are_served(place: Path) -> None:
    (place / "real").mkdir()
    (place / "real/r.yaml").write_text("id: r\n", encoding="utf-8")
    (place / "d/link.yaml").symlink_to("../real/r.yaml")
    repository = Repository(str(place), confine=True)
    assert ids(repository) == ids(repository) == ["in", "r"]


def test_a_root_that_is_itself_a_link_is_served(place: Path) -> None:
    (place.parent / "door").symlink_to(place)
    assert ids(Repository(str(place.parent / "door"), confine=True)) == ["in"]


def test_includes_written_to_leave_the_root_are_refused_before_any_record_is_read(place: Path) -> None:
    include_written_with_dots(place)
    with pytest.raises(RepositoryError):
        Repository(str(place), confine=True).load_config()


def test_an_open_file_is_refused_when_its_path_names_another(place: Path) -> None:
    confinement = Confinement(str(place), FileSystem())
    confinement.require_opened_inside(str(place / "d/in.yaml"), os.stat(place / "d/in.yaml"))
    with pytest.raises(ReadFault):
        confinement.require_opened_inside(str(place / "d/in.yaml"), os.stat(place / "mergeway.yaml"))
    with pytest.raises(ReadFault):
        confinement.require_opened_inside(str(place / "d/gone.yaml"), os.stat(place / "mergeway.yaml"))


def test_being_within_a_folder_is_decided_by_whole_names() -> None:
    root = os.path.abspath("/r")
    assert is_within(root, root)
    assert is_within(root, os.path.join(root, "a"))
    assert not is_within(root, root + "evil")
    assert is_within(os.path.abspath(os.sep), root)
