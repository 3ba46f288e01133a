"""A repository stays the one that was admitted, from the check of its places to the end of reading.

Its places were checked by name (`mcpkit.git.layout`), and git opens them by name. A directory that was exchanged for a
link in between would let git read elsewhere, so they are compared before and after: what was read meanwhile is thrown
away. Somebody who exchanges a directory and puts it back between two of git's steps is not noticed; that takes a
process of the same user, which could read the files itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mcpkit.git import Repository
from mergestorm_mcp.errors import EXIT_USAGE, CommandError

__all__ = ["steady"]


@contextmanager
def steady(repository: Repository) -> Iterator[None]:
    """Refuse what was read in the `with` block if the repository's directories were exchanged meanwhile.

    Raises:
        CommandError: `outside_sandbox`, exit 2.
    """
    before = _identities(repository)
    yield
    if before is None or _identities(repository) != before:
        raise CommandError(
            "The repository's directories were exchanged while it was read, so nothing was sent. Call again when "
            "nothing else works on the checkout.",
            exit_code=EXIT_USAGE,
            code="outside_sandbox",
        )


def _identities(repository: Repository) -> list[tuple[int, int]] | None:
    """Device and number of each directory; None if one is not where its name says."""
    layout = repository.layout
    places = [layout.git_dir, layout.common_dir, *layout.object_dirs]
    if layout.work_tree is not None:
        places.append(layout.work_tree)
    found: list[tuple[int, int]] = []
    for place in places:
        try:
            status = os.stat(place)
        except OSError:
            return None
        if os.path.normcase(os.path.realpath(place)) != os.path.normcase(place):
            return None
        found.append((status.st_dev, status.st_ino))
    return found
