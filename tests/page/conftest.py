"""A browser, and a real server under load whose page it opens; both are shared by the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from lab import demo
from lab.processes.ports import HOST, free_port
from lab.servers import Server
from tests.advisor.building import RECORDING, capture
from tests.advisor.sidecar import Sidecar
from tests.conftest import start_or_skip
from tests.page import chromium
from tests.page.visitor import Visitor
from tests.waiting import wait_for

PICTURES = Path(os.environ["SCREENSHOTS"]).resolve() if os.environ.get("SCREENSHOTS") else None
"""Where pictures of the page are kept. They show the load of `make run`; other tests have one of half the size."""
POOL = demo.POOL if PICTURES else "128M"
SHARE = 1 if PICTURES else 2

FOUND_SECONDS = 180.0  # a window without a gap takes long on a busy machine

Serve = Callable[..., Sidecar]
Folders = pytest.TempPathFactory


@dataclass(frozen=True)
class Watched:
    """A server under load, and the sidecar that watches it."""

    server: Server
    sidecar: Sidecar

    @property
    def url(self) -> str:
        return str(self.sidecar.url)

    def watched_seconds(self) -> float:
        """Length of the window that was judged last."""
        return float(self.sidecar.get("/state").json()["judged"]["seconds"])

    def found(self) -> dict[str, Any]:
        """The finding about the table that is scanned, once it is there."""
        found: dict[str, Any] = wait_for(self.finding)
        return found

    def finding(self) -> dict[str, Any] | None:
        """The finding about the table that is scanned; None while there is none."""
        answer = self.sidecar.get("/advise", params={"rule": "scan-exceeds-old-sublist"})
        found = answer.json()["recommendations"] if answer.is_success else []
        return next((each for each in found if each["subject"]["table"] == demo.SCANNED), None)


@pytest.fixture(scope="package")
def browser(tmp_path_factory: Folders) -> Iterator[Browser]:
    with chromium.running(tmp_path_factory.mktemp("home")) as started:
        yield started


@contextmanager
def watching(folder: Path) -> Iterator[Watched]:
    """MySQL 9.7 under the load of `make run`, watched; the finding is there."""
    with ExitStack() as stack:
        server = stack.enter_context(start_or_skip("mysql-9.7", {"innodb-buffer-pool-size": POOL}))
        stack.enter_context(demo.load(server, scanned=demo.SCANNED_PAGES // SHARE, hot=demo.HOT_PAGES // SHARE))
        sidecar = Sidecar(folder, "--dsn", server.dsn, "--interval", "2s")
        stack.callback(sidecar.kill)
        watched = Watched(server, sidecar)
        watched.found()
        wait_for(sidecar.judged)
        yield watched


@pytest.fixture(scope="package")
def live(tmp_path_factory: Folders) -> Iterator[Watched]:
    """A watched server that all tests share."""
    with watching(tmp_path_factory.mktemp("sidecar")) as watched:
        yield watched


@pytest.fixture(scope="package")
def replaying(tmp_path_factory: Folders) -> Iterator[Sidecar]:
    """A sidecar that replays a recording with one finding, judged by every rule."""
    sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--recording", capture(RECORDING))
    wait_for(sidecar.judged)
    yield sidecar
    sidecar.kill()


@pytest.fixture
def serve(tmp_path_factory: Folders) -> Iterator[Serve]:
    """Start a sidecar on a port that stays its own when it is started anew; killed with the test."""
    with ExitStack() as stack:

        def serve_it(*arguments: object, port: int = 0) -> Sidecar:
            address = f"{HOST}:{port or free_port()}"
            sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--listen", address, *arguments)
            stack.callback(sidecar.kill)
            return sidecar

        yield serve_it


@pytest.fixture
def visitor(browser: Browser, serve: Serve) -> Iterator[Visitor]:
    """Opens pages; the test fails if one complains in its console."""
    del serve  # its sidecars outlive the pages, which would complain
    made = Visitor(browser)
    yield made
    made.leave()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Where a test's own recording goes."""
    return tmp_path / "recording.jsonl"
