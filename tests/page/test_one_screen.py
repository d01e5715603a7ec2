"""Who opens a finding from an alert's link sees within one screen what is wrong, and what to do about it.

With SCREENSHOTS=<folder> the screens are kept there: `make screenshots` makes the README's pictures so.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from lab import demo
from tests.advisor.listening import Listening
from tests.conftest import start_or_skip
from tests.page.sections import effect
from tests.page.visitor import DESKTOP, PHONE, Visitor, drawn, ready
from tests.waiting import wait_for

SCREENS = {"page-desktop": (DESKTOP, 1.0), "page-phone": (PHONE, 1.5)}
RULE = "scan-exceeds-old-sublist"
COLOURS = 128
MOST_BYTES = 150_000
LONG = 60.0
"""Seconds that the server of a kept picture is watched first, so that it shows settled numbers."""
PICTURES = Path(os.environ["SCREENSHOTS"]).resolve() if os.environ.get("SCREENSHOTS") else None
"""Where pictures of the page are kept: of the load of `make run`, not of a recording."""


@pytest.fixture(scope="module")
def sidecar(request: pytest.FixtureRequest) -> Iterator[Listening]:
    """What the page shows."""
    if not PICTURES:
        yield request.getfixturevalue("replaying")
        return
    with ExitStack() as stack:
        server = stack.enter_context(start_or_skip("mysql-9.7", {"innodb-buffer-pool-size": demo.POOL}))
        stack.enter_context(demo.load(server))
        sidecar = stack.enter_context(Listening("--dsn", server.dsn, "--interval", "2s"))
        wait_for(lambda: (advised := finding(sidecar)) and advised["watched_seconds"] >= LONG)
        yield sidecar


def finding(sidecar: Listening) -> dict[str, Any] | None:
    """The one about the table that is scanned; None while there is none."""
    some = sidecar.get("/advise", params={"rule": RULE}).json()["recommendations"]
    return next((finding for finding in some if finding["subject"]["table"] == demo.SCANNED), None)


def within(part: Locator, size: tuple[int, int]) -> bool:
    """Whether all of it is on the screen."""
    box = part.bounding_box()
    assert box is not None, part
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return box["x"] >= 0 and box["y"] >= 0 and right <= size[0] and bottom <= size[1]


@pytest.mark.parametrize("name", SCREENS)
def test_one_screen_says_what_is_wrong_since_when_what_to_run_its_effect_its_cost_and_the_way_back(
    sidecar: Listening, visitor: Visitor, tmp_path: Path, name: str
) -> None:
    advised = wait_for(lambda: finding(sidecar))
    size, sharpness = SCREENS[name]
    page = visitor.open(f"{sidecar.url}/#{advised['fingerprint']}", size=size, sharpness=sharpness)
    ready(page)
    shown = page.locator(f"[id='{advised['fingerprint']}']")
    expect(page.locator(".glance-picture")).to_have_count(3)
    expect(shown).to_be_focused()
    drawn(page)
    steps = shown.locator(".finding-columns .step")
    parts = {
        "what is wrong": shown.get_by_role("heading", level=3),
        "since when": shown.locator(".finding-since"),
        "what to run": steps.filter(has_text="Try"),
        "its effect": effect(shown, "Effect"),
        "its cost": effect(shown, "Cost"),
        "the way back": steps.filter(has_text="Undo"),
    }
    assert {sentence: within(part, size) for sentence, part in parts.items()} == dict.fromkeys(parts, True)
    picture = (PICTURES or tmp_path) / f"{name}.png"
    keep(page.screenshot(), picture)
    assert picture.stat().st_size < MOST_BYTES


def keep(screenshot: bytes, picture: Path) -> None:
    """Write it with few colours: a third of the bytes, and nobody sees the difference."""
    with Image.open(io.BytesIO(screenshot)) as whole:
        whole.convert("RGB").quantize(COLOURS).save(picture, optimize=True)
