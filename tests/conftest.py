"""Real servers for tests: `server` runs a test once per server, `start_server` starts the test's own server.

`@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)` limits a test to some servers. If a server
is not available, its tests are skipped; with REQUIRE_SERVERS=1 they fail.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from advisor.rules import check
from advisor.rules.rulebook import builtin_directory
from lab.servers import NAMES, Server, Unavailable, interrupt_on_signals, start
from tests.unavailable import give_up


def pytest_configure() -> None:
    interrupt_on_signals()
    read_built_in_rules_once()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Name what failed once more, last: in CI a summary is whole texts, and the end of an output is what is kept."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    for kind in ("failed", "error"):
        for each in reporter.stats.get(kind, ()):
            reporter.write_line(f"{kind}: {each.nodeid}")


def read_built_in_rules_once() -> None:
    """Of each process: it takes 0.4 s of CPU, and hundreds of tests need them."""
    read, built_in = check.load_file, builtin_directory()
    kept = functools.cache(read)

    def load_file(path: Path) -> check.Rule:
        return (kept if path.parent == built_in else read)(path)

    pytest.MonkeyPatch().setattr(check, "load_file", load_file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"server", "start_server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")


def start_or_skip(name: str, options: Mapping[str, str]) -> Server:
    try:
        return start(name, options)
    except Unavailable as error:
        give_up(f"{name} is unavailable here: {error}")


@pytest.fixture(scope="session", params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with default settings, shared by all tests with its name: pytest groups them, so one runs at a time."""
    with start_or_skip(request.param, {}) as started:
        yield started


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Start a server of the test's own, as in start_server("mysql-9.7", innodb_old_blocks_pct=55)."""
    with ExitStack() as stack:

        def start_one(name: str, **options: object) -> Server:
            texts = {option: str(value) for option, value in options.items()}
            return stack.enter_context(start_or_skip(name, texts))

        yield start_one
