"""The LRU model against real servers, page by page, on scenarios of lab/scenarios at a quarter of their size.

Here is what is the same under any schedule. What is not, such as MariaDB's free list or a hot set beside a clock, the
lab has recorded: see tests/advisor/models/lru/test_recorded.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Points, Pool, Scan, Scenario, Set
from lab.harness.workloads import ask
from lab.lru_scenarios import PlayedScenario, load, play
from lab.servers import PrivateServer
from tests.advisor.models.lru import reference
from tests.conftest import start_or_skip

pytestmark = pytest.mark.server

SERIAL = [
    ("mysql-9.7", "settings-on-the-way"),
    ("mysql-5.6", "pct-5"),
    ("mysql-5.6", "small-table"),
    ("mysql-5.6", "two-in-turn"),
    ("mysql-5.6", "larger-than-the-pool"),
    ("mariadb-10.5", "filled-pool"),
]
BESIDE_LOOKUPS = [("mysql-9.7", "hot-set-in-turn")]
HELD = [("mariadb-11.8", "pct-95"), ("mariadb-10.11", "pct-95")]
PARALLEL = [("mysql-9.7", "parallel-promotes-nothing")]
COUNTED = [("mysql-9.7", "parallel-then-lookups")]

SMALLER = 4
SINGLE, EXTENT = 32, 64
"""Pages: a table has that many single ones, then extents. The last is full here: nothing unused can be read ahead."""
OWN_PAGES = 12
"""Pages that the server needs for itself during a pass: its catalogue's, undo pages, and those above the leaves."""
DRAWS = 0.03
"""The served model knows how often a page is looked up, and not when: see docs/lru-model.md."""


def smaller(scenario: Scenario) -> Scenario:
    """The scenario with a pool and tables of a quarter of the pages."""
    steps: list[Scan | Points | Set] = []
    for step in scenario.flat():
        if isinstance(step, Set):
            steps.append(step)
            continue
        extents = (step.pages // SMALLER - SINGLE) // EXTENT
        accesses = {"accesses": step.accesses // SMALLER} if isinstance(step, Points) else {}
        steps.append(step.model_copy(update={"pages": SINGLE + extents * EXTENT, **accesses}))
    return Scenario(pool=scenario.pool.model_copy(update={"pages": scenario.pool.pages // SMALLER}), steps=tuple(steps))


def of(cases: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """A test's argument ``played``, of servers and scenarios; one worker has all of a server."""
    named = [pytest.param(case, id="-".join(case), marks=pytest.mark.xdist_group(f"lru {case[0]}")) for case in cases]
    return pytest.mark.parametrize("played", named, indirect=True)


@pytest.fixture(scope="module")
def running() -> Iterator[Callable[[str], PrivateServer]]:
    """A server by its name, started when it is first asked for; it keeps its tables for the next scenario."""
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(start_or_skip(name, {})))


@pytest.fixture
def played(request: pytest.FixtureRequest, running: Callable[[str], PrivateServer]) -> PlayedScenario:
    name, scenario = request.param
    return play(running(name), smaller(load(scenario)))


def page_exact(played: PlayedScenario) -> list[Pass]:
    """The reference's passes; the first stands for what was in the pool before."""
    return reference.simulate(played.scenario)[1:]


def served(played: PlayedScenario) -> list[Pass]:
    return list(simulation.simulate(played.scenario).passes)[1:]


@of([*SERIAL, *BESIDE_LOOKUPS])
def test_both_models_have_the_lists_of_a_real_server(played: PlayedScenario) -> None:
    for modelled, measured in zip(page_exact(played), played.passes, strict=True):
        assert modelled.pages_read == pytest.approx(measured.pages_read, abs=OWN_PAGES)
        assert modelled.made_young == pytest.approx(measured.made_young, abs=OWN_PAGES)
        assert modelled.old_pages == pytest.approx(measured.old_pages, abs=OWN_PAGES)
    draws = DRAWS * sum(measured.pages_read for measured in played.passes) if "h" in played.scenario.sizes() else 0.0
    for modelled, measured in zip(served(played), played.passes, strict=True):
        assert modelled.pages_read == pytest.approx(measured.pages_read, abs=OWN_PAGES + draws)
        assert modelled.old_pages == pytest.approx(measured.old_pages, abs=OWN_PAGES)


@of(HELD)
def test_a_table_that_the_old_sublist_holds_is_read_once_beside_a_free_list(played: PlayedScenario) -> None:
    for predicted in (page_exact(played), served(played)):
        for modelled, measured in zip(predicted, played.passes, strict=True):
            assert modelled.pages_read == pytest.approx(measured.pages_read, abs=OWN_PAGES)


@of(PARALLEL)
def test_parallel_readers_promote_nothing_and_a_serial_scan_all_that_they_left(played: PlayedScenario) -> None:
    pages = played.scenario.sizes()["big"]
    _, *before, held, serial = played.passes
    for scan in (*before, held):
        assert scan.made_young <= OWN_PAGES
        assert scan.pages_read <= pages + OWN_PAGES
    assert held.pages_read <= OWN_PAGES
    assert serial.pages_read <= OWN_PAGES
    assert serial.made_young == pytest.approx(pages, abs=OWN_PAGES)


@of(COUNTED)
def test_a_lookup_promotes_a_page_that_parallel_readers_have_read_before(played: PlayedScenario) -> None:
    """The behaviour parallel_read_is_an_access; before it, the first lookup of a page promoted nothing.

    Which pages are still there for the lookups is up to the order of the readers, so the numbers are near, not equal.
    """
    *_, lookups = played.passes
    for predicted in (page_exact(played)[-1], served(played)[-1]):
        assert predicted.made_young > 0
        assert predicted.made_young == pytest.approx(lookups.made_young, rel=0.2)


@pytest.mark.xdist_group("lru mysql-9.7")
def test_parallel_readers_read_ahead(running: Callable[[str], PrivateServer]) -> None:
    server = running("mysql-9.7")
    count = Scan(scan="big", pages=SINGLE + 22 * EXTENT, fetch="scan")
    play(server, Scenario(pool=Pool(pages=2048), steps=(count,)))  # it restarts the server, and so its counters
    with server.connect() as connection:
        [(_, read_ahead)] = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_ahead'")
    assert int(read_ahead) >= EXTENT
