"""A file name cannot repaint the operator's terminal or forge a line of the log: messages show its characters as codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such file names")


@pytest.mark.parametrize(
    "name",
    [
        "a\nforged.yaml",
        "a\x1b[31m.yaml",
        "a\r.yaml",
        "a\u202e.yaml",
        "a\u2028.yaml",
        "a\x7f.yaml",
        "a\x9b.yaml",
    ],
)
def test_a_message_names_the_file_in_visible_characters(write_repository: Write, name: str) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/ok.yaml": "id: a\n"})
    try:
        (root / "d" / name).write_text("id: [", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root)).snapshot()
    assert caught.value.message.isprintable()
    assert caught.value.detail.isprintable()


def test_letters_of_any_script_stay_as_they_are(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/größe-名.yaml": "id: ["})
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root)).snapshot()
    assert "größe-名.yaml" in caught.value.message


def test_the_place_of_an_earlier_definition_is_named_in_visible_characters(write_repository: Write) -> None:
    entity = (
        "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n"
    )
    root = write_repository({"mergeway.yaml": f"include: ['c/*']\n{CONFIG}"})
    (root / "c").mkdir()
    try:
        Path(os.fsdecode(os.fsencode(root / "c") + b"/a\n\xff.yaml")).write_text(entity, encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root)).load_config()
    assert caught.value.message.isprintable()
    caught.value.message.encode("utf-8")
