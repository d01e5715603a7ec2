"""Someone who opens the page in a browser, and holds it to an empty console and its own host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.waiting import DEADLINE

DESKTOP, PHONE = (1280, 800), (390, 844)
"""Width and height of a window, CSS pixels."""
NARROWEST = 360
Scheme = Literal["light", "dark"]

expect.set_options(timeout=1000 * DEADLINE)

_WIDE = """() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const outside = (element) => element.checkVisibility() && element.getBoundingClientRect().right > clientWidth + 1;
    const described = (node) => `${node.tagName}.${node.getAttribute("class")}: ${node.textContent.slice(0, 60)}`;
    const wide = [...document.querySelectorAll("body *")].filter(outside).map(described).slice(0, 5);
    return scrollWidth <= clientWidth ? [] : [`${scrollWidth} of ${clientWidth} px`, ...wide];
}"""
_LEVELS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter((element) => element.checkVisibility()).map((element) => Number(element.tagName[1]))"""
_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
_AUDITS: Mapping[Scheme, Mapping[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
"""The rules of axe that run in each scheme; only the colours differ."""
_SEVERE = {"serious", "critical"}


class Visitor:
    """Opens pages, each in a context of its own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._problems: list[str] = []

    def open(
        self,
        url: str,
        *,
        size: tuple[int, int] = DESKTOP,
        scheme: Scheme = "light",
        sharpness: float = 1,
        harmless: str = "(?!)",
    ) -> Page:
        """The page at an address, loaded.

        Args:
            url: Its address.
            size: Of the window.
            scheme: Light or dark.
            sharpness: Pixels of the screen in a CSS pixel.
            harmless: A pattern of messages that the console may have; by default it must stay empty.
        """
        origin = "/".join(url.split("/")[:3])
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            device_scale_factor=sharpness,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="Europe/Berlin",
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(1000 * DEADLINE)
        self._contexts.append(context)
        page = context.new_page()

        def hear(message: ConsoleMessage) -> None:
            problem = f"{message.text} ({message.location.get('url', '')})"
            if not re.search(harmless, problem):
                self._problems.append(problem)

        def watch(request: Request) -> None:
            if not request.url.startswith((origin, "data:")):
                self._problems.append(f"asks {request.url}")

        page.on("console", hear)
        page.on("pageerror", lambda error: self._problems.append(str(error)))
        page.on("request", watch)
        page.goto(url)
        return page

    def leave(self) -> None:
        """Close all pages; none may have complained of anything, or asked another host."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        assert not self._problems, "\n".join(self._problems)


def ready(page: Page) -> None:
    """Wait until the first answers are on the page."""
    expect(page.locator(".status")).to_contain_text("rules")


def unfold(page: Page) -> None:
    """Open everything that is folded."""
    page.evaluate("() => document.querySelectorAll('details').forEach((element) => { element.open = true; })")


def drawn(page: Page) -> None:
    """Wait until what has changed is on the screen."""
    page.evaluate(_DRAWN)


def narrow(page: Page) -> None:
    """Nothing runs out of a small phone's screen, folded or not."""
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": NARROWEST, "height": 740})
    for step in (drawn, unfold, drawn):
        step(page)
        wide = page.evaluate(_WIDE)
        assert not wide, wide
    page.set_viewport_size(size)


def accessible(page: Page) -> None:
    """axe finds nothing serious, light and dark; headings do not skip a level."""
    for scheme, options in _AUDITS.items():
        page.emulate_media(color_scheme=scheme)
        violations = Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
        severe = [_told(violation) for violation in violations if violation["impact"] in _SEVERE]
        assert not severe, f"{scheme}: {severe}"
    page.emulate_media(color_scheme="light")
    levels = page.evaluate(_LEVELS)
    assert levels[0] == 1, levels
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def _told(violation: dict[str, Any]) -> str:
    nodes = [f"{node['target']} {node['html'][:200]} {node['failureSummary']}" for node in violation["nodes"][:4]]
    return f"{violation['id']}, {violation['impact']}: {violation['help']}: {'; '.join(nodes)}"
