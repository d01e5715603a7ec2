"""A browser for all tests of this folder, and the sidecars whose page it opens: in this process, with a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.listening import Listening
from tests.page import chromium, other_site
from tests.page.visitor import Visitor
from tests.waiting import wait_for

Serve = Callable[..., Listening]
Folders = pytest.TempPathFactory
FOLDER = Path(__file__).parent


class Running:
    """The browser of this process, from its first use to the last test of this folder.

    Playwright keeps an event loop running in this thread, where tests of other folders run their own.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def browser(self, folders: Folders) -> Browser:
        if self._browser is None:
            home = folders.mktemp("home")
            self._browser = self._stack.enter_context(chromium.running(home, *other_site.ARGUMENTS))
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._stack.close()


running = Running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if nextitem is None or not nextitem.path.is_relative_to(FOLDER):
            running.close()


@pytest.fixture
def browser(tmp_path_factory: Folders) -> Browser:
    """One for all, also for the pages of other sites."""
    return running.browser(tmp_path_factory)


@pytest.fixture(scope="session")
def replaying() -> Iterator[Listening]:
    """A sidecar that replays a recording with one finding, judged by every rule."""
    with Listening("--recording", capture(RECORDING)) as sidecar:
        wait_for(sidecar.judged)
        yield sidecar


@pytest.fixture(scope="session")
def finding(replaying: Listening) -> dict[str, Any]:
    """The finding of the recording."""
    [finding] = replaying.get("/advise").json()["recommendations"]
    return dict(finding)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a sidecar of the test's own."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(Listening(*arguments))


@pytest.fixture
def live(server: PrivateServer, serve: Serve) -> Listening:
    """A sidecar on the shared server, which has no load."""
    sidecar = serve("--dsn", server.dsn, "--interval", "1s")
    wait_for(sidecar.judged)
    return sidecar


@pytest.fixture
def visitor(browser: Browser, serve: Serve) -> Iterator[Visitor]:
    """Opens pages; the test fails if one complains in its console."""
    del serve  # its sidecars outlive the pages, which would complain
    visitor = Visitor(browser)
    yield visitor
    visitor.leave()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Where a test's own recording goes."""
    return tmp_path / "recording.jsonl"
