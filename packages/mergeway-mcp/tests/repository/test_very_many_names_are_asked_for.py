"""Naming very many fields costs a look-up each, not a comparison with every field of every record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mergeway_mcp.repository import Repository

Write = Callable[[Mapping[str, str | bytes]], Path]


class Names(list[str]):
    """A list that counts how often it is searched."""

    searches = 0

    def __contains__(self, name: object) -> bool:
        Names.searches += 1
        return super().__contains__(name)


def test_a_list_of_names_is_never_searched(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": (
            "mergeway: {version: 1}\nentities:\n"
            "  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n"
        ),
        "d/a.yaml": "items: [{id: a, x: 1, y: 2}, {id: b, x: 3}]\n",
    })
    snapshot = Repository(str(root)).snapshot()
    names = Names(["x", "nowhere"])
    assert snapshot.export(fields=names) == {"K": [{"x": 1}, {"x": 3}]}
    assert snapshot.get("K", "a", fields=names)["fields"] == {"x": 1}
    assert Names.searches == 0
