"""Where the parts of the page are."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page


def section(page: Page, heading: str) -> Locator:
    """The innermost section under a heading."""
    return page.locator("section", has=page.get_by_role("heading", name=heading, exact=True)).last


def effect(finding: Locator, role: str) -> Locator:
    """What the advice does, costs, or does to others."""
    return finding.locator(".finding-columns .effect", has_text=re.compile(rf"^\s*{role}\b"))
