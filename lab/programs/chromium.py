"""Debian's Chromium, which is unpacked and not installed, and Playwright that drives it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from lab.packages import debian
from lab.packages.cache import UnavailableHere


def program() -> tuple[Path, dict[str, str]]:
    """Its path and environment."""
    try:
        release = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError as error:
        raise UnavailableHere(str(error)) from error
    suite = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
    if suite is None:
        raise UnavailableHere("this machine is no Debian")
    root = debian.unpacked(suite[1], "chromium")
    return root / "usr/lib/chromium/chromium", {"LD_LIBRARY_PATH": debian.libraries(root)}


@contextmanager
def running(home: Path, *arguments: str) -> Iterator[Browser]:
    """A browser without a window.

    Args:
        home: Its home folder.
        arguments: More of its command line.
    """
    path, environment = program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            chromium_sandbox=os.geteuid() != 0,  # which refuses root
            env={**os.environ, **environment, "HOME": str(home)},
            args=list(arguments),
        )
        yield browser
        browser.close()
