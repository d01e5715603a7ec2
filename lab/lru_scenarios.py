"""Scenarios of the LRU model on real servers: pages read by each pass, and the state of the pool after it.

`python -m lab.lru_scenarios SERVER/NAME [--json]` plays lab/scenarios/NAME.yaml and prints the measurements.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pymysql
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from advisor.models.lru.scenario import Pass, Points, Pool, Scan, Scenario, Set, Settings
from lab.harness.measure import leaf_pages
from lab.harness.workloads import (
    SCHEMA,
    BackgroundLoad,
    Draws,
    ask,
    count,
    look_up_pages,
    make_table,
    scan,
    scan_slowly,
)
from lab.servers import PrivateServer, interrupt_on_signals, start

FOLDER = Path(__file__).parent / "scenarios"
PAGE_BYTES = 16_384
PARALLEL_READ_THREADS = 4
LEAST_SCAN_DEPTH = 100
"""The free pages that MySQL's page cleaner keeps: the least that the server accepts."""

START = "start"
"""The object for the pages that the server itself read before the first step."""

COUNTERS = (
    *("POOL_SIZE", "FREE_BUFFERS", "DATABASE_PAGES", "OLD_DATABASE_PAGES"),
    *("NUMBER_PAGES_READ", "PAGES_MADE_YOUNG", "PAGES_NOT_MADE_YOUNG"),
)
"""Of INNODB_BUFFER_POOL_STATS, summed over all instances; the last three are since the server's start."""
ACTIVITY = """
SELECT SUM(MODIFIED_DATABASE_PAGES), SUM(NUMBER_PAGES_READ), SUM(NUMBER_PAGES_WRITTEN)
FROM information_schema.INNODB_BUFFER_POOL_STATS"""
QUIET_SECONDS = 1.05
"""Longer than the page cleaner's interval of one second."""

MYSQL = {"mysql-5.6", "mysql-9.7", "mariadb-10.5"}
"""Servers on which a read evicts only one page. During writes, MySQL's page cleaner refills the free list to
innodb_lru_scan_depth once a second. MariaDB's, from 10.6 on, does so whenever less than half of it is left."""
CLEANER_SECONDS = 1.0
TICKING_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class PlayedScenario:
    """A scenario with its measurements.

    Attributes:
        server, version: The server.
        scenario: The scenario with the measured sizes, durations and gaps, one step per pass. Its first step stands for
            the earlier content of the pool.
        passes: The passes of all steps except the first. ``not_made_young`` counts accesses, as the server does.
    """

    server: str
    version: str
    scenario: Scenario
    passes: tuple[Pass, ...]


_PLAYED = TypeAdapter(PlayedScenario)

Reader = Callable[["pymysql.Connection[Any]", str, Scan], None]
"""Reads a table once. Takes a session, the table's name and the step of the pass."""


def load(name: str) -> Scenario:
    """The scenario of lab/scenarios/NAME.yaml."""
    return Scenario.model_validate(YAML(typ="safe").load(FOLDER / f"{name}.yaml"))


def read(connection: pymysql.Connection[Any], table: str, step: Scan) -> None:
    """Read the table by parallel threads, slowed down to the step's ``seconds``, or at full speed."""
    if step.fetch == "scan":
        count(connection, table)
    elif step.seconds:
        scan_slowly(connection, table, step.pages, step.seconds)
    else:
        scan(connection, table)


def table_name(name: str, pages: int) -> str:
    """The name of the table in `SCHEMA` for a scenario's object."""
    return f"{name}_{pages}"


def play(
    server: PrivateServer, scenario: Scenario, reader: Reader = read, indexes: Mapping[str, int] | None = None
) -> PlayedScenario:
    """Restart the server with an empty pool of the scenario's size and settings, and run the steps.

    Args:
        server: A running server. Missing tables of the scenario are created first.
        scenario: The scenario.
        reader: The statement for a pass of a scan.
        indexes: The number of secondary indexes by object; none by default.
    """
    tables = {name: table_name(name, pages) for name, pages in scenario.sizes().items()}
    with server.connect() as connection:
        _make_missing(connection, scenario, indexes or {})
    server.restart(_options(server, scenario.pool))
    with server.connect() as connection:
        if server.name == "mysql-9.7":
            ask(connection, f"SET innodb_parallel_read_threads = {PARALLEL_READ_THREADS}")
        for table in tables.values():  # opens the table, so that its reads do not count for a scan
            ask(connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table} WHERE id < 0")
        leaves = {name: leaf_pages(server, SCHEMA, table) for name, table in tables.items()}
        settle(connection)
        with BackgroundLoad(server.connect) as ticking:
            if scenario.pool.free_high and server.name in MYSQL:
                ask(connection, f"CREATE TABLE IF NOT EXISTS {SCHEMA}.ticks AS SELECT 0 AS tick")
                ticking.repeat(tick, pause=0.01)
                time.sleep(TICKING_SECONDS)
            return _play(server, connection, scenario, leaves, reader)


def _make_missing(connection: pymysql.Connection[Any], scenario: Scenario, indexes: Mapping[str, int]) -> None:
    """Create the scenario's tables that the server lacks."""
    names = ask(connection, f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}'")
    present = {name for (name,) in names}
    missing = [(name, pages) for name, pages in scenario.sizes().items() if table_name(name, pages) not in present]
    for name, pages in missing:
        # Half of the first page stays empty, so there is one more page.
        make_table(connection, table_name(name, pages), pages - 1, indexes=indexes.get(name, 0))
    if missing:
        # Else MariaDB purges after the restart, and so reads the tables.
        ask(connection, "SET GLOBAL innodb_fast_shutdown = 0")


def _options(server: PrivateServer, pool: Pool) -> dict[str, str]:
    options = {
        "innodb-buffer-pool-size": str(-(-pool.pages * PAGE_BYTES // 2**20) * 2**20),
        "innodb-old-blocks-pct": str(pool.old_blocks_pct),
        "innodb-old-blocks-time": f"{pool.old_blocks_time_ms:.0f}",
        "innodb-lru-scan-depth": str(pool.free_high or LEAST_SCAN_DEPTH),
    }
    if server.name.startswith("mysql"):
        options["innodb-buffer-pool-instances"] = str(pool.instances)
    return options


def _play(
    server: PrivateServer,
    connection: pymysql.Connection[Any],
    scenario: Scenario,
    leaves: Mapping[str, int],
    reader: Reader,
) -> PlayedScenario:
    """Run the steps on a freshly started server, one pass at a time; ``leaves`` are the leaf pages by object."""
    draws, before, sizes = Draws(), _counters(connection), scenario.sizes()
    steps: list[Scan | Points | Set] = [Scan(scan=START, pages=before["DATABASE_PAGES"], gap_seconds=10.0)]
    passes: list[Pass] = []
    ended = time.monotonic()
    for step in _single(scenario):
        began = time.monotonic()
        if isinstance(last := steps[-1], Scan) and len(steps) > 1:
            steps[-1] = last.model_copy(update={"gap_seconds": began - ended})
        if isinstance(step, Set):
            _set(connection, step.set)
            steps.append(step)
            continue
        name = step.scan if isinstance(step, Scan) else step.points
        table = table_name(name, sizes[name])
        if isinstance(step, Points):
            look_up_pages(connection, table, draws.of(step))
        else:
            reader(connection, table, step)
        ended, after = time.monotonic(), _counters(connection)
        steps.append(step.model_copy(update={"pages": leaves[name], "seconds": ended - began}))
        passes.append(_pass(len(steps), name, before, after))
        before = after
        if isinstance(step, Scan):
            time.sleep(step.gap_seconds)
    free_list: dict[str, int] = {}
    if server.name not in MYSQL and not scenario.pool.free_high:
        # MariaDB's page cleaner keeps a constant free list; MySQL's is empty without writes.
        free_list = {"free_low": LEAST_SCAN_DEPTH // 2, "free_high": LEAST_SCAN_DEPTH}
    pool = scenario.pool.model_copy(update={"pages": before["POOL_SIZE"]} | free_list)
    return PlayedScenario(server.name, server.version, Scenario(pool=pool, steps=tuple(steps)), tuple(passes))


def _single(scenario: Scenario) -> Iterator[Scan | Points | Set]:
    """The steps, one per pass."""
    for step in scenario.flat():
        if isinstance(step, Scan):
            yield from [step.model_copy(update={"passes": 1})] * step.passes
        else:
            yield step


def _set(connection: pymysql.Connection[Any], settings: Settings) -> None:
    values = {
        "innodb_old_blocks_pct": settings.old_blocks_pct,
        "innodb_old_blocks_time": settings.old_blocks_time_ms,
        "innodb_lru_scan_depth": settings.free_high,
    }
    for name, value in values.items():
        if value is not None:
            ask(connection, f"SET GLOBAL {name} = {value:.0f}")


def _counters(connection: pymysql.Connection[Any]) -> dict[str, int]:
    sums = ", ".join(f"SUM({name})" for name in COUNTERS)
    [row] = ask(connection, f"SELECT {sums} FROM information_schema.INNODB_BUFFER_POOL_STATS")
    return dict(zip(COUNTERS, map(int, row), strict=True))


def settle(connection: pymysql.Connection[Any]) -> None:
    """Wait until the server has written its changes of the start and is idle.

    MySQL 9.7 takes four seconds. Until then its page cleaner evicts pages, and dirty pages cannot be evicted.
    """
    last, since = None, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(0.1)
        now = ask(connection, ACTIVITY)
        if now != last or now[0][0]:
            last, since = now, time.monotonic()


def tick(connection: pymysql.Connection[Any]) -> None:
    """Write a row to wake MySQL's page cleaner; in one transaction, which needs few undo pages."""
    connection.autocommit(value=False)
    ask(connection, f"UPDATE {SCHEMA}.ticks SET tick = tick + 1")


def _pass(step: int, name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Pass:
    return Pass(
        step=step,
        object=name,
        number=1,
        pages_read=after["NUMBER_PAGES_READ"] - before["NUMBER_PAGES_READ"],
        made_young=after["PAGES_MADE_YOUNG"] - before["PAGES_MADE_YOUNG"],
        not_made_young=after["PAGES_NOT_MADE_YOUNG"] - before["PAGES_NOT_MADE_YOUNG"],
        young_pages=after["DATABASE_PAGES"] - after["OLD_DATABASE_PAGES"],
        old_pages=after["OLD_DATABASE_PAGES"],
        free_pages=after["FREE_BUFFERS"],
    )


def save(played: PlayedScenario, name: str) -> None:
    """Write the measurements to NAME.measured.json, next to the scenario."""
    text = json.dumps(dumped(played), indent=1)
    (FOLDER / f"{name}.measured.json").write_text(text + "\n", encoding="utf-8")


def saved(name: str) -> PlayedScenario:
    """The measurements that `save` wrote."""
    return _PLAYED.validate_json((FOLDER / f"{name}.measured.json").read_text(encoding="utf-8"))


def dumped(played: PlayedScenario) -> dict[str, Any]:
    """The scenario and its measurements as a JSON object."""
    return dict(_PLAYED.dump_python(played, mode="json", exclude_none=True))


def restored(data: Mapping[str, Any]) -> PlayedScenario:
    """The inverse of `dumped`."""
    return _PLAYED.validate_json(json.dumps(data))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="SERVER/SCENARIO...")
@click.option("--json", "as_json", is_flag=True, help="Print all measurements, as JSON.")
@click.option("--save", "keep", is_flag=True, help="Write them to SCENARIO.measured.json, next to the scenario.")
def main(names: tuple[str, ...], as_json: bool, keep: bool) -> None:  # noqa: FBT001 - click's flags
    """Play scenarios of lab/scenarios on real servers, such as mariadb-10.11/seed-002-steps, and print each pass."""
    interrupt_on_signals()
    for server, _, name in (path.partition("/") for path in names):
        with start(server) as running:
            played = play(running, load(name))
        if keep:
            save(played, name)
        if as_json:
            click.echo(json.dumps(dumped(played)))
            continue
        click.echo(f"{server} {played.version}, {name}, a pool of {played.scenario.pool.pages:,} pages")
        for row in played.passes:
            click.echo(
                f"  {row.object:8} read {row.pages_read:7,} made young {row.made_young:7,}"
                f"  young {row.young_pages:7,} old {row.old_pages:7,} free {row.free_pages:6,}"
            )


if __name__ == "__main__":
    main()
