"""The page in a real browser: what is on the screen, what arrives without a reload, what a hostile name cannot do."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from .browsers import arguments, find_browser
from .conftest import KEYS, Bench, Visitor

BROWSER = find_browser()
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome here; CHROME may name one"),
    pytest.mark.slow,
]

LANDMARKS: Final[tuple[Literal["banner", "main", "complementary"], ...]] = ("banner", "main", "complementary")
MILLISECONDS = 20_000
HOSTILE = '<img src=x onerror="window.caught=1"><script>window.caught=1</script>\u202e\'&amp;'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window. For this module only: its loop would be in the way of others."""
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=BROWSER, args=arguments(), timeout=3 * MILLISECONDS
        )
        yield launched
        launched.close()


@dataclass
class Screen:
    """A page that is open, and what went on in it.

    Attributes:
        troubles: what the console complained of, and errors nobody caught.
        asked: the host of every request.
    """

    page: Page
    troubles: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    expected: tuple[str, ...] = ()

    def watch(self) -> None:
        """Begin to note."""
        self.page.on(
            "console",
            lambda said: self.troubles.append(said.text) if said.type in {"error", "warning"} else None,
        )
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(urlsplit(request.url).hostname or request.url))

    def enter(self, bench: Bench) -> None:
        """Follow the link of the start and wait for the first state."""
        self.page.goto(f"{bench.url}/enter?token={bench.world.run_token}")
        self.live()

    def live(self) -> None:
        """Wait until the page follows the service."""
        expect(self.page.locator("#connection")).to_have_text("Live")

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def layer(self, number: int) -> Locator:
        """The row of a pull request."""
        return self.page.locator("#stacks tbody tr").filter(has_text=f"#{number} ")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor without cookies."""
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(MILLISECONDS)
    yield made
    made.close()


@pytest.fixture
def screen(context: BrowserContext) -> Iterator[Screen]:
    """A page in which nothing may go wrong, and that may ask the service only."""
    made = Screen(context.new_page())
    made.watch()
    yield made
    assert [text for text in made.troubles if not any(part in text for part in made.expected)] == []
    assert made.asked <= {"127.0.0.1"}


def make_stack(bench: Bench, **policy: bool) -> tuple[str, int]:
    bench.push("feature", {"new.txt": "hello\n"})
    number = bench.open_pull("feature")
    return bench.adopt(number, **policy), number


def test_the_link_shows_a_stack_and_leaves_no_token_in_the_address(bench: Bench, screen: Screen) -> None:
    _, number = make_stack(bench)
    screen.enter(bench)
    assert screen.page.url == f"{bench.url}/"
    row = screen.layer(number)
    for text in ("Pull feature", "feature → main", bench.head("feature")[:7], "under review"):
        expect(row).to_contain_text(text)
    expect(screen.page.get_by_role("button", name="Auto land off")).to_have_attribute("aria-pressed", "false")
    assert screen.page.evaluate("document.cookie") == ""
    shown = screen.page.content()
    assert all(secret not in shown for secret in (bench.world.run_token, *KEYS.values()))


def test_events_and_states_arrive_without_a_reload(bench: Bench, screen: Screen) -> None:
    _, number = make_stack(bench, autoEnqueueWhenReady=True)
    screen.enter(bench)
    screen.page.evaluate("window.stayed = true")
    events = screen.page.get_by_role("log").locator("li")
    before = events.count()
    assert before > 0
    bench.pass_time(60)
    expect(screen.layer(number)).to_contain_text("1 passed")
    expect(screen.layer(number)).to_contain_text("approved")
    bench.pass_time(3600)
    expect(screen.page.locator("#stacks")).to_contain_text("landed")
    expect(screen.page.locator("#queue tbody tr")).to_contain_text("landed")
    expect(events.first).to_contain_text("landed on main")
    assert events.count() > before
    numbers = [int(item.get_attribute("data-number") or "") for item in events.all()]
    assert numbers == sorted(set(numbers), reverse=True)
    assert screen.page.evaluate("window.stayed") is True


def test_hostile_names_are_shown_and_do_nothing(bench: Bench, screen: Screen) -> None:
    bench.script(ci={"checks": [{"name": HOSTILE, "fails_when": {"path": "*"}}]})
    _, number = make_stack(bench)
    with bench.world.store.write() as connection:
        connection.execute("UPDATE pulls SET title = ?, author_login = ?", (HOSTILE, HOSTILE))
        connection.execute("UPDATE accounts SET login = ? WHERE login = 'rivka'", (HOSTILE,))
        connection.execute("UPDATE layers SET branch = ?", (HOSTILE,))
        connection.execute("UPDATE events SET text = ?", (HOSTILE,))
    bench.pass_time(60)
    screen.enter(bench)
    assert screen.layer(number).locator(".title bdi").text_content() == HOSTILE
    expect(screen.layer(number)).to_contain_text(f"failed: {HOSTILE}")
    expect(screen.page.get_by_role("log")).to_contain_text(HOSTILE)
    assert screen.page.evaluate("window.caught === undefined") is True
    assert screen.page.locator("img").count() == 0
    assert screen.page.locator("script").count() == 1


def test_a_button_acts_and_keeps_the_focus(bench: Bench, screen: Screen) -> None:
    stack_id, _ = make_stack(bench)
    screen.enter(bench)
    screen.page.get_by_role("button", name="Auto land off").focus()
    screen.page.keyboard.press("Enter")
    switched = screen.page.get_by_role("button", name="Auto land on")
    expect(switched).to_have_attribute("aria-pressed", "true")
    expect(switched).to_be_focused()
    expect(screen.page.locator("#message")).to_have_text("Auto land is on.")
    assert bench.listed(stack_id)["autoEnqueueWhenReady"] is True


def test_closing_asks_first_and_can_be_left(bench: Bench, screen: Screen) -> None:
    stack_id, number = make_stack(bench)
    screen.enter(bench)
    screen.press(f"Close #{number}")
    expect(screen.page.get_by_role("dialog")).to_contain_text(f"#{number}")
    screen.page.keyboard.press("Escape")
    expect(screen.page.get_by_role("dialog")).to_be_hidden()
    screen.press(f"Close #{number}")
    screen.press("Leave it")
    assert bench.layer(stack_id)["state"] == "clean"
    screen.press(f"Close #{number}")
    screen.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(screen.layer(number)).to_contain_text("closed")
    assert bench.layer(stack_id)["state"] == "closed"


def test_a_refused_action_says_why(bench: Bench, screen: Screen) -> None:
    bench.script(ci={"checks": [{"name": "tests", "fails_when": {"path": "*"}}]})
    _, number = make_stack(bench, autoFixCiOverride=False)
    bench.pass_time(120)
    screen.enter(bench)
    screen.expected = ("409",)  # the browser itself notes the answer
    screen.press(f"Merge #{number}")
    screen.page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    message = screen.page.locator("#message")
    expect(message).to_be_visible()
    expect(message).to_have_attribute("data-tone", "bad")
    assert bench.head("main") != bench.head("feature")


def test_a_login_is_approved_from_the_page(bench: Bench, visitor: Visitor, screen: Screen) -> None:
    screen.enter(bench)
    codes = visitor.http.post("/api/v1/cli/device", json={}).json()
    screen.page.get_by_role("link", name=f"Look at {codes['user_code']}").click()
    expect(screen.page.get_by_label("Code")).to_have_value(codes["user_code"])
    screen.page.get_by_label("Account").select_option("rivka")
    screen.press("Approve")
    expect(screen.page.get_by_role("heading", level=1)).to_have_text("Login approved")
    redeemed = visitor.http.post("/api/v1/cli/device/token", json={"device_code": codes["device_code"]})
    assert redeemed.status_code == 200


def test_the_door_lets_in_who_types_the_token(bench: Bench, screen: Screen) -> None:
    screen.expected = ("403",)
    screen.page.goto(bench.url)
    screen.page.get_by_label("Run token").fill(bench.world.run_token)
    screen.press("Enter")
    screen.live()
    assert screen.page.url == f"{bench.url}/"


def test_a_page_of_an_earlier_run_says_so(bench: Bench, screen: Screen) -> None:
    screen.enter(bench)
    screen.expected = ("403",)
    bench.world.run_token += "-of-another-run"
    make_stack(bench)
    expect(screen.page.locator("#connection")).to_have_text("Of an earlier run")
    expect(screen.page.locator("#message")).to_contain_text("mergestorm-local ui")


def test_it_fits_every_screen_and_can_be_read(bench: Bench, browser: Browser) -> None:
    branch = "a-branch-" + "with-a-very-long-name-" * 8
    bench.push(branch, {"new.txt": "hello\n"})
    number = bench.open_pull(branch)
    bench.adopt(number, autoEnqueueWhenReady=True)
    bench.until(lambda: _queued(bench))
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for width, scheme in itertools.product((390, 1280), schemes):
        with browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme) as context:
            screen = Screen(context.new_page())
            screen.enter(bench)
            assert screen.page.evaluate("document.documentElement.scrollWidth") <= width
            assert screen.page.evaluate(POOR_CONTRASTS) == [], (width, scheme)
            for heading in ("State", "Checks", "Review"):
                assert screen.page.locator("#stacks th", has_text=heading).count() == 1
            expect(screen.page.get_by_role("table", name=re.compile("Layers"))).to_be_visible()
            expect(screen.page.get_by_role("table", name="Merge queue")).to_be_visible()
            expect(screen.layer(number)).to_be_visible()
            for landmark in LANDMARKS:
                assert screen.page.get_by_role(landmark).count() >= 1


def _queued(bench: Bench) -> bool:
    with bench.world.store.read() as connection:
        return connection.execute("SELECT 1 FROM queue_entries").fetchone() is not None


POOR_CONTRASTS = """() => {
  const part = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const [one, two] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
    if ((one + 0.05) / (two + 0.05) < 4.5) poor.push(`${element.tagName} ${element.textContent}`);
  }
  return poor;
}"""
