"""Pages of other sites, and names that lead to the sidecar: in Chromium, while the server is busy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from lab.attacks import other_site
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.processes.service import PLAIN
from lab.programs import chromium

_SECONDS = 60.0


def _loaded(sidecar: Sidecar) -> object:
    return httpx.get(f"{sidecar.url}/state", timeout=_SECONDS, **PLAIN).json()["rules"]


def _line(what: str, found: Iterable[str]) -> Line:
    names = sorted(set(found))
    return Line(what, "none", ", ".join(names) or "none", kept=not names)


def _attacked(stage: Stage, what: str, page: str, target: str, *arguments: str) -> Iterator[Line]:
    """The attack of one page; ``{port}`` in both origins is the sidecar's."""
    stage.say(what)
    with (
        tempfile.TemporaryDirectory() as home,
        stage.sidecar(*arguments) as sidecar,
        chromium.running(Path(home), *other_site.ARGUMENTS) as browser,
    ):
        port = urlsplit(sidecar.url).port
        before = _loaded(sidecar)
        outcome = other_site.attack(browser, page.format(port=port), target.format(port=port))
        # Not of a page's own request: a frame that is not shown, and what no browser lets a page read.
        changing = [each for each in outcome.answered if not each.startswith("GET ")]
        yield _line(f"{what}: answers that it read, of {len(outcome.statuses)} requests", outcome.read)
        yield _line(f"{what}: what it asked or changed", changing)
        yield _line(f"{what}: rules it loaded", [] if _loaded(sidecar) == before else ["all"])


def _other_sites(stage: Stage) -> Iterable[Line]:
    yield from _attacked(stage, "a page elsewhere", "http://evil.example", "http://127.0.0.1:{port}")


def _rebinding(stage: Stage) -> Iterable[Line]:
    rebound = "http://evil.example:{port}"
    yield from _attacked(stage, "a name that leads to this machine", rebound, rebound)
    yield from _attacked(stage, "a name that leads to a machine of the network", rebound, rebound, "--listen", ":0")


ATTACKS = (
    Attack(
        "other-sites",
        "A page of another site asks the sidecar in every way that a browser has",
        _other_sites,
        (30.0, 30.0),
    ),
    Attack("rebinding", "A name of another site leads to the sidecar (DNS rebinding)", _rebinding, (60.0, 30.0)),
)
"""The attacks of browsers."""
