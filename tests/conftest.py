"""Real servers for tests, and the ring that each test belongs to.

``server`` runs a test once per server that can be had; ``@pytest.mark.parametrize("server", ["mysql-9.7"],
indirect=True)`` limits it. There is one server of a kind in a run, with performance_schema: a test makes schemas and
accounts of its own there, and leaves settings as they were. ``start_server`` gives a test a server of its own, to
restart, to reconfigure or to kill. A server that is unavailable skips its tests; with REQUIRE_SERVERS=1 they fail.

Rings, by markers that are set here: ``make test`` runs what is neither ``thorough`` nor ``system``; ``make
test-servers`` what needs a server, on all of them; ``make test-system`` what is marked ``system``.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import hypothesis
import pytest

from advisor.advice import service
from lab.servers import NAMES, OWN, PrivateServer, interrupt_on_signals, programs, start
from tests.unavailable import if_available
from tests.waiting import DEADLINE

EVERYDAY = ("mysql-9.7", "mariadb-11.8")
"""The servers of every change's tests."""
THOROUGH_FOLDERS = ("tests/faults",)
SYSTEM_FOLDERS = ("tests/page", "tests/fleet", "tests/image", "tests/systemd", "tests/whole")
_FIXTURES = {"server", "shared_server", "start_server"}
LOOK_SECONDS = 1e-5
"""Of the clock that limits the work of rules and models: each look at it takes so long, on a slow machine as on a fast
one. So the same rule has the same time everywhere; what it costs is for lab/bench."""
setattr(time, "thread_time", itertools.count(0.0, LOOK_SECONDS).__next__)  # noqa: B010 - before its first use
# An answer waits for what it is about, and not for what a busy machine has done by then.
service.FIRST_SECONDS = service.ANSWER_SECONDS = DEADLINE
SHARED = {"performance-schema": "ON"}
"""Options of the shared servers: MariaDB's default is OFF."""

# Each run draws the same examples, and none is judged by its time.
hypothesis.settings.register_profile(
    "same", derandomize=True, database=None, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("same")


def pytest_configure() -> None:
    interrupt_on_signals()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
    # What a test depends on of its environment, so that it is the same at every terminal and in every job.
    os.environ.update({"LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "120", "TERM": "dumb"})
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LANGUAGE", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)
    for name in [name for name in os.environ if name.startswith("INNODB_ADVISOR_") and name not in _LABS]:
        del os.environ[name]
    time.tzset()
    os.umask(0o022)


_LABS = {"INNODB_ADVISOR_CACHE", *map(programs.variable, (*NAMES, *OWN))}
"""Variables of the lab, which name downloads and servers."""


def pytest_unconfigure(config: pytest.Config) -> None:
    """Name what failed once more, last: in CI a summary is whole texts, and the end of an output is what is kept."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    for kind in ("failed", "error"):
        for report in reporter.stats.get(kind, ()):
            reporter.write_line(f"{kind}: {report.nodeid}")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file = item.nodeid.partition("::")[0]
        fixtures = getattr(item, "fixturenames", ())
        if _FIXTURES & set(fixtures):
            item.add_marker("server")
        names = _servers_of(item) if item.get_closest_marker("server") else set()
        if file.startswith(SYSTEM_FOLDERS):
            item.add_marker("system")
        if file.startswith(THOROUGH_FOLDERS) or not names <= set(EVERYDAY):
            item.add_marker("thorough")
        if not item.get_closest_marker("xdist_group"):
            # One worker has the shared server of a kind, and one the fixtures of a file.
            item.add_marker(pytest.mark.xdist_group(next(iter(names), file) if "server" in fixtures else file))


def _servers_of(item: pytest.Item) -> set[str]:
    """The servers that a test names in its parameters."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params.values() if callspec else ()
    texts = [text for value in parameters for text in (value if isinstance(value, tuple) else (value,))]
    return {text for text in texts if isinstance(text, str) and text in NAMES}


def start_or_skip(name: str, options: Mapping[str, str]) -> PrivateServer:
    return if_available(start, name, options)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Callable[[str], PrivateServer]]:
    """The run's server of a kind, which is started when it is first asked for."""
    with ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(start_or_skip(name, SHARED)))


@pytest.fixture(scope="session", params=NAMES)
def server(request: pytest.FixtureRequest, shared_server: Callable[[str], PrivateServer]) -> PrivateServer:
    """A server with default settings and performance_schema, shared by all tests with its name."""
    return shared_server(request.param)


@pytest.fixture
def start_server() -> Iterator[Callable[..., PrivateServer]]:
    """Start a server of the test's own, as in start_server("mysql-9.7", innodb_old_blocks_pct=55)."""
    with ExitStack() as stack:

        def start_one(name: str, **options: object) -> PrivateServer:
            texts = {option: str(value) for option, value in options.items()}
            return stack.enter_context(start_or_skip(name, texts))

        yield start_one
