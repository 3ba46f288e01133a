"""Whatever a record file holds, a request ends soon, in an answer or in a repository error that names the file."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError

Write = Callable[[Mapping[str, str | bytes]], Path]
CONFIG = "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: [d/*], fields: {id: string}}\n"

BOMB = "\n".join(
    ["id: a", "a: &a [x,x,x,x,x,x,x,x,x]"]
    + [
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    ]
)

HOSTILE: dict[str, tuple[str, str | bytes]] = {
    "an alias bomb": ("a.yaml", BOMB),
    "deep flow nesting": ("a.yaml", "id: a\nx: " + "[" * 10_000 + "]" * 10_000),
    "deep block nesting": ("a.yaml", "id: a\n" + "\n".join(" " * depth + "x:" for depth in range(1_500))),
    "deep JSON": ("a.json", '{"id": "a", "x": ' + "[" * 10_000 + "]" * 10_000 + "}"),
    "a huge integer": ("a.yaml", "id: a\nx: " + "9" * 5_000),
    "a huge integer in JSON": ("a.json", '{"id": "a", "x": ' + "9" * 5_000 + "}"),
    "half a surrogate pair": ("a.yaml", 'id: a\nx: "\\ud800"'),
    "half a surrogate pair in JSON": ("a.json", '{"id": "a", "x": "\\ud800"}'),
    "half a surrogate pair as a key in JSON": ("a.json", '{"id": "a", "\\udc00": 1}'),
    "a cycle": ("a.yaml", "id: a\nx: &x {y: *x}"),
    "binary": ("a.yaml", bytes(range(256)) * 64),
    "zeros": ("a.json", bytes(4_096)),
    "invalid UTF-8": ("a.json", b'{"id": "\xff"}'),
    "a picture": ("a.yaml", b"\x89PNG\r\n\x1a\n" + bytes(100)),
}


def broken(root: Path) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root)).snapshot()
    return caught.value


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_an_error_that_names_it(write_repository: Write, kind: str) -> None:
    name, content = HOSTILE[kind]
    error = broken(write_repository({"mergeway.yaml": CONFIG, f"d/{name}": content}))
    assert error.message.startswith(f"d/{name}: ")
    assert error.entity == "K"
    assert len(error.message) < 300


#: Unknown keys are ignored, so what these hold is never built and does no harm.
HARMLESS_WHEN_IGNORED = {"an alias bomb", "a huge integer"}


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if HOSTILE[kind][0] == "a.yaml"])
def test_a_hostile_configuration_is_an_error_that_names_it(write_repository: Write, kind: str) -> None:
    content = HOSTILE[kind][1]
    text = content if isinstance(content, bytes) else b"mergeway: {version: 1}\n" + content.encode("utf-8")
    root = write_repository({"mergeway.yaml": text})
    try:
        loaded = set(Repository(str(root)).load_config().entities)
    except RepositoryError as error:
        loaded = {error.message.partition(":")[0]}
    assert loaded == {"mergeway.yaml"} or (kind in HARMLESS_WHEN_IGNORED and not loaded)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.parametrize("name", ["d/a.yaml", "mergeway.yaml", "s.json"])
def test_a_fifo_is_an_error_and_never_a_hang(write_repository: Write, name: str) -> None:
    root = write_repository({
        "mergeway.yaml": CONFIG.replace("fields: {id: string}", "json_schema: s.json"),
        "d/b.yaml": "id: b\n",
    })
    (root / "s.json").write_text('{"properties": {"id": {"type": "string"}}}', encoding="utf-8")
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    assert broken(root).message.startswith(f"{name}: ")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices here")
def test_a_link_to_a_device_is_an_error(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/b.yaml": "id: b\n"})
    (root / "d/zero").symlink_to("/dev/zero")
    assert broken(root).message.startswith("d/zero: ")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
def test_a_socket_is_an_error(write_repository: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/b.yaml": "id: b\n"})
    monkeypatch.chdir(root / "d")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        assert broken(root).message.startswith("d/s: ")


@pytest.mark.skipif(os.name == "nt", reason="sparse files are made otherwise there")
def test_a_file_beyond_the_size_limit_is_an_error(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": "id: a\n"})
    os.truncate(root / "d/a.yaml", 64 * 1024 * 1024 + 1)
    assert broken(root).message.startswith("d/a.yaml: ")


def test_messages_quote_nothing_of_a_file(write_repository: Write) -> None:
    secret = "hunter2"
    contents = {
        "a.yaml": f"id: [{secret}",
        "b.yaml": f"{secret}: 1\n{secret}: 2\n",
        "c.yaml": f"type: {secret}\nid: a\n",
        "d.yaml": f"id: *{secret}\n",
        "e.yaml": f"id: a\nx: !!int {secret}\n",
        "f.yaml": f"{secret}\n",
        "g.json": f'{{"{secret}": 1, "{secret}": 2}}',
        "h.json": f'{{"id": "a" "{secret}"}}',
        "i.yaml": f"items: [{secret}]\n",
    }
    for name, content in contents.items():
        root = write_repository({"mergeway.yaml": CONFIG.replace("d/*", f"d/{name}"), f"d/{name}": content})
        error = broken(root)
        assert secret not in error.message + error.detail, name


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="file names are Unicode there")
def test_a_file_name_that_is_no_text_is_shown_but_cannot_be_an_identifier(write_repository: Write) -> None:
    root = write_repository({"mergeway.yaml": CONFIG})
    (root / "d").mkdir()
    with open(os.fsencode(root / "d") + b"/\xff.yaml", "wb") as file:
        file.write(b"id: a\n")
    snapshot = Repository(str(root)).snapshot()
    assert snapshot.files() == [{"type": "K", "file": "d/\ufffd.yaml"}]
    assert snapshot.objects("K")[0]["file"] == f"{root}/d/\ufffd.yaml"
    for text in (
        CONFIG.replace("identifier: id", "identifier: $path"),
        CONFIG.replace("{id: string}", "{id: string, p: {type: string, source: {path: true}}}"),
    ):
        (root / "mergeway.yaml").write_text(text, encoding="utf-8")
        assert "\ufffd" in broken(root).message


def test_a_fault_is_the_first_in_the_order_of_entities_and_files(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": "mergeway: {version: 1}\nentities:\n"
        "  B: {identifier: id, include: [b/*], fields: {id: string}}\n"
        "  A: {identifier: id, include: ['a/2', 'a/1', 'a/['], fields: {id: string}}\n",
        "a/1": "[",
        "a/2": "[",
        "b/1": "[",
    })
    assert broken(root).message.startswith("a/2: ")
    (root / "a/2").write_text("id: a\n", encoding="utf-8")
    assert broken(root).message.startswith("a/1: ")
    (root / "a/1").write_text("id: b\n", encoding="utf-8")
    assert broken(root).message.startswith("mergeway.yaml: entity A")
