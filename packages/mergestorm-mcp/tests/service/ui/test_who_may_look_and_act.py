"""The page is for whoever holds the run token; acting takes an Origin of the service besides."""

from __future__ import annotations

import re
from typing import Final

import httpx

from mergestorm_mcp.service.http.pages import cookie_name
from mergestorm_mcp.service.http.routes import ui

from .conftest import KEYS, Bench, Visitor

PUBLIC: Final = ("/ui/page.css", "/ui/page.js", "/ui/icon.svg")
READS: Final = [
    route.path for route in ui.routes() if "GET" in (route.methods or ()) and route.path not in PUBLIC
]
WRITES: Final = [route.path for route in ui.routes() if "POST" in (route.methods or ())]
FIELDS: Final[dict[str, dict[str, str]]] = {
    "/ui/auto-land": {"armed": "false"},
    "/ui/archive": {},
    "/ui/land": {"number": "1"},
    "/ui/continue": {"number": "1"},
    "/ui/close": {"repository": "acme/shop", "number": "1"},
    "/ui/rerun": {"repository": "acme/shop", "number": "1"},
}


def stranger(bench: Bench, **cookies: str) -> httpx.Client:
    return bench.open_things.enter_context(
        httpx.Client(base_url=bench.url, trust_env=False, timeout=30, cookies=cookies)
    )


def snapshot(bench: Bench) -> list[tuple[object, ...]]:
    with bench.world.store.read() as connection:
        return [
            tuple(row)
            for table in ("stacks", "pulls", "checks", "events", "timeline", "members")
            for row in connection.execute(f"SELECT * FROM {table}")
        ]


def test_every_route_of_the_page_is_known_to_these_tests() -> None:
    assert {route.path for route in ui.routes()} == {*READS, *WRITES, *PUBLIC}
    assert set(READS) == {"/", "/ui/state"}
    assert set(WRITES) == {"/enter", *FIELDS}


def test_nobody_reads_without_the_token(bench: Bench) -> None:
    nobody = stranger(bench)
    wrong = stranger(bench, **{cookie_name(bench.world): bench.world.run_token + "x"})
    misnamed = stranger(bench, other=bench.world.run_token)
    for path in READS:
        for client in (nobody, wrong, misnamed):
            assert client.get(path).status_code == 403, path
        with_key = nobody.get(path, headers={"Authorization": f"Bearer {KEYS['rivka']}"})
        assert with_key.status_code == 403, path


def test_nobody_acts_without_the_token_or_from_elsewhere(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    stack_id = bench.adopt(bench.open_pull("feature"))
    nobody = stranger(bench)
    somebody = stranger(bench, **{cookie_name(bench.world): bench.world.run_token})
    own = {"Origin": bench.url}
    elsewhere = {
        "origin_missing": {},
        "origin_not_allowed": {"Origin": "http://evil.example"},
        "host_not_allowed": {**own, "Host": f"evil.example:{bench.url.rpartition(':')[2]}"},
    }
    before = snapshot(bench)
    for path, fields in FIELDS.items():
        asked = fields | ({} if "repository" in fields else {"stack_id": stack_id})
        for shown in ({}, {"token": "wrong"}):
            refused = nobody.post(path, data=asked | shown, headers=own)
            assert (refused.status_code, refused.json()["error"]) == (403, "run_token_missing"), path
        for code, headers in elsewhere.items():
            refused = somebody.post(path, data=asked, headers=headers)
            assert (refused.status_code, refused.json()["error"]) == (403, code), path
        other_port = somebody.post(path, data=asked, headers={"Origin": "http://127.0.0.1:1"})
        assert other_port.json()["error"] == "origin_not_allowed", path
        assert somebody.get(path).status_code == 405, path
        as_json = somebody.post(path, json=asked, headers=own)
        assert (as_json.status_code, as_json.json()["error"]) == (415, "unsupported_media_type"), path
        name = path.rpartition("/")[2]
        for broken in ({"token": ""}, asked | {"extra": "1"}, asked | {"number": "one"}):
            assert visitor.act(name, **broken).json()["error"] == "invalid_input", path
        assert visitor.act(name, **asked, token="x" * 20_000).status_code == 413, path
    assert snapshot(bench) == before


def test_a_name_that_only_points_here_is_not_answered(bench: Bench) -> None:
    somebody = stranger(bench, **{cookie_name(bench.world): bench.world.run_token})
    headers = {"Host": f"evil.example:{bench.url.rpartition(':')[2]}"}
    for path in (*READS, *PUBLIC):
        assert somebody.get(path, headers=headers).json()["error"] == "host_not_allowed", path
        from_elsewhere = somebody.get(path, headers={"Origin": "http://evil.example"})
        assert from_elsewhere.json()["error"] == "origin_not_allowed", path


def test_the_token_can_be_typed_in_at_the_door(bench: Bench) -> None:
    client, own = stranger(bench), {"Origin": bench.url}
    door = client.get("/")
    assert 'action="/enter"' in door.text
    assert bench.world.run_token not in door.text
    assert client.post("/enter", data={"token": "wrong"}, headers=own).status_code == 403
    assert client.post("/enter", data={"token": bench.world.run_token}).status_code == 403
    assert not client.cookies
    entered = client.post("/enter", data={"token": bench.world.run_token}, headers=own)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert client.get("/").status_code == 200


def test_the_page_is_strict_about_what_it_runs_and_holds_no_secret(bench: Bench, visitor: Visitor) -> None:
    bench.push("feature", {"new.txt": "hello\n"})
    bench.adopt(bench.open_pull("feature"))
    page = visitor.http.get("/")
    rules = dict(
        rule.strip().partition(" ")[::2] for rule in page.headers["content-security-policy"].split(";")
    )
    assert (rules["default-src"], rules["script-src"], rules["style-src"]) == ("'none'", "'self'", "'self'")
    assert (rules["frame-ancestors"], rules["base-uri"]) == ("'none'", "'none'")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=|javascript:", page.text)
    linked = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert set(linked) == set(PUBLIC)
    kinds = {path: visitor.http.get(path).headers["content-type"].partition(";")[0] for path in PUBLIC}
    assert kinds == {
        "/ui/page.css": "text/css",
        "/ui/page.js": "text/javascript",
        "/ui/icon.svg": "image/svg+xml",
    }
    texts = [page.text, visitor.http.get("/ui/state").text, *(visitor.http.get(path).text for path in PUBLIC)]
    for secret in (bench.world.run_token, *KEYS.values(), "msk_live"):
        assert all(secret not in text for text in texts)
    assert "innerHTML" not in "".join(texts)
