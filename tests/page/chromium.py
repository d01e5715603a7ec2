"""Chromium; a test that can't have it is skipped, or fails when servers are required."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

from lab.packages.cache import UnavailableHere
from lab.programs import chromium
from tests.unavailable import give_up


@contextmanager
def running(home: Path, *arguments: str) -> Iterator[Browser]:
    """A browser without a window.

    Args:
        home: Its home folder.
        arguments: More of its command line.
    """
    try:
        chromium.program()
    except UnavailableHere as error:
        give_up(f"Chromium can't be had here: {error}")
    with chromium.running(home, *arguments) as browser:
        yield browser
