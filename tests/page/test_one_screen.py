"""Who opens a finding from an alert's link sees within one screen what is wrong, and what to do about it.

With SCREENSHOTS=<folder> the screens are kept there: `make screenshots` makes the README's pictures so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.page.conftest import Watched
from tests.page.visitor import DESKTOP, PHONE, Visitor, drawn, ready

SCREENS = {"page-desktop": (DESKTOP, 1.0), "page-phone": (PHONE, 1.5)}
MOST_BYTES = 150_000


def within(part: Locator, size: tuple[int, int]) -> bool:
    """Whether all of it is on the screen."""
    box = part.bounding_box()
    assert box is not None, part
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return box["x"] >= 0 and box["y"] >= 0 and right <= size[0] and bottom <= size[1]


@pytest.mark.parametrize("name", SCREENS)
def test_one_screen_says_what_is_wrong_since_when_what_to_run_its_effect_its_cost_and_the_way_back(
    live: Watched, visitor: Visitor, tmp_path: Path, name: str
) -> None:
    found = live.finding()
    assert found is not None
    size, sharpness = SCREENS[name]
    page = visitor.open(f"{live.url}/#{found['fingerprint']}", size=size, sharpness=sharpness)
    ready(page)
    shown = page.locator(f"[id='{found['fingerprint']}']")
    expect(shown).to_be_focused()
    drawn(page)
    steps = shown.locator(".step")
    parts = {
        "what is wrong": shown.get_by_role("heading", level=3),
        "since when": shown.locator(".finding-since"),
        "what to run": steps.filter(has_text="Try"),
        "its effect": shown.locator(".finding-columns .effect-effect"),
        "its cost": shown.locator(".finding-columns .effect-cost"),
        "the way back": steps.filter(has_text="Undo"),
    }
    assert {said: within(part, size) for said, part in parts.items()} == dict.fromkeys(parts, True)
    picture = Path(os.environ.get("SCREENSHOTS") or tmp_path) / f"{name}.png"
    page.screenshot(path=picture)
    assert picture.stat().st_size < MOST_BYTES
