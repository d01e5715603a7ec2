"""A real browser for the tests of the page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from lab.packages import debian
from lab.packages.cache import Unavailable
from tests.unavailable import give_up

DESKTOP, PHONE = (1280, 800), (390, 844)
PATIENCE_MS = 30_000


def chromium() -> tuple[Path, dict[str, str]]:
    """Debian's Chromium and its environment; skips, or fails when servers are required, where there is none."""
    try:
        release = Path("/etc/os-release").read_text()
        suite = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
        if suite is None:
            raise Unavailable("this machine is no Debian")
        root = debian.unpacked(suite[1], "chromium")
    except (OSError, Unavailable) as error:
        give_up(f"Chromium can't be had here: {error}")
    return root / "usr/lib/chromium/chromium", {"LD_LIBRARY_PATH": debian.libraries(root)}


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser, until the block ends."""
    program, environment = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            env={**os.environ, **environment},
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


class Complaints:
    """What a page complained of: messages of its console, errors of its scripts, requests to other hosts."""

    def __init__(self, page: Page, origin: str) -> None:
        self.found: list[str] = []
        page.on("console", lambda message: self.found.append(message.text))
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(origin) else self.found.append(request.url))


@contextmanager
def visit(
    browser: Browser, origin: str, fragment: str = "", *, size: tuple[int, int] = DESKTOP, complains: bool = False
) -> Iterator[Page]:
    """The page of a sidecar, once it has its first answer; at the end it must not have complained of anything.

    Args:
        browser: Where it is opened, with a profile of its own.
        origin: The sidecar.
        fragment: Of the address, such as a fingerprint.
        size: Of the window, CSS pixels.
        complains: Whether it may complain, because the sidecar ends.
    """
    context: BrowserContext = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, timezone_id="Europe/Berlin"
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints = Complaints(page, origin)
    try:
        page.goto(f"{origin}/{fragment and '#'}{fragment}")
        page.locator(".status, .banner").first.wait_for()
        yield page
        assert complains or not complaints.found
    finally:
        context.close()
