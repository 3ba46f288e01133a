"""Documents and repositories of sizes and contents that nobody writes by hand: bounded, counted, never a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from ragit_mcp.errors import RagitError
from ragit_mcp.snapshots import open_repository, work_tree_root

Bench = Any
MIB = 1 << 20
linux = pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="peak memory is asked for in the way of Linux"
)

# Prints the peaks of resident memory and of the address space in KiB and what came of the ingest.
MEASURED = """
import json, sys, time
from ragit_mcp.ingest import IngestRequest, ingest
result = ingest(sys.argv[1], IngestRequest())
# Not ru_maxrss: that begins with what the process that started this one held.
peak, size = (int(line.split()[1]) for word in ("VmHWM:", "VmPeak:") for line in open("/proc/self/status", encoding="ascii")
              if line.startswith(word))
print(json.dumps({"peak": peak, "seconds": time.process_time(), "size": size, "processed": result.processed, "skipped": result.skipped,
                  "chunks": result.chunks, "warnings": result.warnings}))
"""


def measured(bench: Bench, timeout: float = 100) -> dict[str, Any]:
    """Ingest in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED, str(bench.path)],
        env={**os.environ, **bench.environ},
        capture_output=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.slow
@linux
def test_a_hundred_megabytes_in_one_document_are_skipped_without_being_held_in_memory(
    workbench: Bench,
) -> None:
    workbench.git("config", "core.compression", "0")
    line = b"The anvil stands in the yard and is as heavy as ever it was.\n"
    small = workbench.commit({"docs/one.md": "# One\n\nAnvil.\n"})
    before = measured(workbench)
    workbench.commit({"docs/huge.md": b"# Huge\n\n" + line * (100 * MIB // len(line))})
    after = measured(workbench)
    assert (after["processed"], after["skipped"]) == (1, 1)
    assert any("docs/huge.md" in warning for warning in after["warnings"])
    assert after["peak"] - before["peak"] < 30 * 1024, (before, after)
    assert after["size"] - before["size"] < 200 * 1024, (before, after)
    assert workbench.texts(small) == workbench.texts() == ["Anvil."]


def test_bytes_that_are_no_text_are_skipped_and_the_others_are_read(workbench: Bench) -> None:
    workbench.commit({
        "docs/ff.md": b"\xff" * 5000,
        "docs/nul.md": b"# A\n\nnul \x00 inside\n",
        "docs/latin.md": "# Caf\u00e9\n\nnaïve\n".encode("latin-1"),
        "docs/le.md": "# Little\n\nAnvil.\n".encode("utf-16"),
        "docs/be.md": b"\xfe\xff" + "# Big\n\nBellows.\n".encode("utf-16-be"),
        "docs/odd.md": b"\xff\xfe" + "# Odd\n\nChisel.\n".encode("utf-16-le") + b"\x00",
        "docs/bom.md": "\ufeff# Mark\n\nDrill.\n".encode(),
        "docs/empty.md": b"",
        "docs/newlines.md": b"\n" * 3000,
    })
    result = workbench.ingest()
    texts = workbench.texts()
    assert {"Anvil.", "Bellows.", "Drill."} <= set(texts)
    assert result.processed + result.skipped == 9
    assert result.skipped >= 3
    assert not any("\ufffd" in text or "\x00" in text for text in texts)


def soak(name: str, content: bytes) -> Any:
    return pytest.param(content, id=name, marks=pytest.mark.soak)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"x" * (5 * MIB - 1), id="one line without a space"),
        pytest.param(
            b"".join(b"# h%d\n" % n for n in range(100_001)), id="more headings than passages are allowed"
        ),
        pytest.param(
            b"---\na: &a [x,x]\n"
            + b"".join(b"b%d: &b%d [*a,*a]\n" % (n, n) for n in range(5000))
            + b"---\n# T\n\nx\n",
            id="front matter of aliases",
        ),
        soak("a hundred thousand headings with text", b"".join(b"# h%d\nx\n" % n for n in range(100_000))),
        soak("one line of words", b"anvil " * (5 * MIB // 6)),
        soak("one line of words of an unspaced script", "港".encode() * (5 * MIB // 3)),
        soak("combining marks on one letter", b"# A\n\na" + "\u0301".encode() * (2 * MIB)),
        soak("nested lists and quotes", b"".join(b" " * (n % 200) + b"- > x\n" for n in range(40_000))),
        soak("an open fence", b"# A\n\n```\n" + b"# no heading\n" * 400_000),
        soak("front matter without an end", b"---\n" + b"a: b\n" * 1_000_000),
        soak("open comments", b"<!--\n" * 1_000_000),
        soak("table cells", b"|" * (5 * MIB - 1)),
        soak("different words", b" ".join(b"w%d" % n for n in range(600_000))),
        soak("names of secrets", b"pwd=a\n" * (5 * MIB // 6)),
        soak("tokens", b"ghp_" + b"a1B2" * 9 + b"\n" + (b"ghp_" + b"c3D4" * 9 + b"\n") * (5 * MIB // 41 - 1)),
        soak("beginnings of keys", b"-----BEGIN PRIVATE KEY-----\n" * (5 * MIB // 28)),
    ],
)
@linux
def test_a_document_of_the_largest_size_is_read_or_skipped_within_bounds(
    workbench: Bench, content: bytes, request: pytest.FixtureRequest
) -> None:
    workbench.commit({"docs/bomb.md": content, "docs/one.md": "# One\n\nAnvil.\n"})
    found = measured(workbench, timeout=550)
    print(request.node.name, {key: found[key] for key in ("peak", "seconds", "processed", "chunks")})
    assert found["processed"] + found["skipped"] == 2, found["warnings"]
    assert found["peak"] < 1200 * 1024, found["peak"]
    assert "Anvil." in workbench.texts()


@pytest.mark.soak
@pytest.mark.timeout(1800)
@linux
def test_fifty_thousand_tiny_documents_are_indexed(workbench: Bench) -> None:
    stream = b"".join(
        b"M 100644 inline docs/%d/%d.md\ndata <<E\n# Note %d\n\nThe anvil number %d.\nE\n"
        % (n % 500, n, n, n)
        for n in range(50_000)
    )
    head = b"commit refs/heads/main\ncommitter A <a@example.invalid> 1700000000 +0000\ndata 1\nx\n"
    workbench.git("fast-import", "--quiet", data=head + stream)
    workbench.git("read-tree", "HEAD")
    found = measured(workbench, timeout=1500)
    print({key: found[key] for key in ("peak", "seconds", "processed", "chunks")})
    assert (found["processed"], found["chunks"]) == (50_000, 50_000)
    assert found["peak"] < 1500 * 1024
    assert len(workbench.texts()) == 50_000


def test_an_empty_repository_and_a_bare_one_are_refused_with_a_code(
    workbench: Bench, make_workbench: Any
) -> None:
    with pytest.raises(RagitError) as unborn:
        workbench.ingest()
    assert unborn.value.code == "SNAPSHOT_NOT_INDEXED"
    assert not (workbench.path / ".ragit").exists()
    bare = make_workbench("bare.git")
    bare.git("config", "core.bare", "true")
    with pytest.raises(RagitError) as refused:
        work_tree_root(open_repository(bare.path / ".git"))
    assert refused.value.code == "REPOSITORY_UNUSABLE"
