"""A scrape with a large, full buffer pool compared with a small one: no statement may walk the pages."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from lab import servers
from lab.bench import costs
from lab.bench.exporters import Exporter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import APART, SERVER, watched
from lab.harness.measure import pool_statistic
from lab.harness.workloads import make_table
from lab.packages.cache import Unavailable
from lab.servers import Server
from lab.servers.sql import execute

SMALL, LARGE, LARGE_SHORT = "256M", "6G", "1G"
PAGES = {"256M": 16_384, "1G": 65_536, "6G": 393_216}
FULL = 0.9
"""Share of a full pool that holds pages: the page cleaner keeps innodb_lru_scan_depth free (1,024 of 16,384)."""
OPTIONS = {"innodb-doublewrite": "OFF", "innodb-redo-log-capacity": "1G"}
_BESIDE = f"a full pool of {SMALL}"
LINES = {
    "latency": Line("full pool of 6 GiB (short: 1): latency of a scrape", "ms", _BESIDE, Bound(most=1.2)),
    "server": Line("full pool of 6 GiB (short: 1): server time of a scrape", "ms", _BESIDE),
    "period": Line("full pool of 6 GiB (short: 1): server time of 15 s without a scrape", "ms", _BESIDE),
}
PERIOD = 15.0


def measure(effort: Effort, say: Say) -> Measurement:
    """Run both servers at the same time and scrape them in turn."""
    large = LARGE_SHORT if effort.short else LARGE
    with _full(SMALL, say) as small, _full(large, say) as big, watched(small) as one, watched(big) as other:
        say("the sidecar's work between scrapes")
        meters = [costs.Meter(server, each) for server, each in ((small, one), (big, other))]
        time.sleep(PERIOD)
        spent = [meter.read() for meter in meters]
        found = compare(((small, one), (big, other)), effort.rounds(60, 12), say)
        return Measurement(
            {
                "latency": _beside([[each.latency_ms for each in costs_] for costs_ in found]),
                "server": _beside([[each.server_ms for each in costs_] for costs_ in found]),
                "period": _beside([[each.asked.seconds * 1000] for each in spent]),
            },
            {"MySQL": big.version, "pool": large},
        )


def compare(
    watched_servers: Sequence[tuple[Server, Exporter]],
    rounds: int,
    say: Say,
) -> list[list[costs.Cost]]:
    """The costs of scrapes of several sidecars, each on its own server, in turn."""
    found: list[list[costs.Cost]] = [[] for _ in watched_servers]
    index = {exporter.pid: number for number, (_, exporter) in enumerate(watched_servers)}
    for each in costs.in_turn(tuple(exporter for _, exporter in watched_servers), rounds, APART):
        number = index[each.pid]
        found[number].append(costs.one(watched_servers[number][0], each))
        say(f"scrape {len(found[number])} of {rounds}")
    return found


def _beside(values: Sequence[Sequence[float]]) -> Values:
    """The values of the large server beside the small one's."""
    return Values(ours=tuple(values[1]), beside=tuple(values[0]))


@contextlib.contextmanager
def _full(pool: str, say: Say) -> Iterator[Server]:
    """A server whose buffer pool is full of a table's pages."""
    say(f"filling a pool of {pool}")
    with servers.start(SERVER, {**OPTIONS, "innodb-buffer-pool-size": pool}) as server:
        execute(server, "ALTER INSTANCE DISABLE INNODB REDO_LOG")
        with server.connect() as connection:
            make_table(connection, "filler", PAGES[pool])
        held = pool_statistic(server, "DATABASE_PAGES")
        if held < FULL * PAGES[pool]:
            raise Unavailable(f"the pool of {pool} holds only {held:,.0f} pages")
        yield server


FIGURE = Figure(
    name="pool",
    title="The size of the buffer pool",
    about=(
        f"Two servers run at the same time, one with a pool of {SMALL}, one of {LARGE} ({LARGE_SHORT} in the short"
        " form). Both pools are full of a table's pages. Each server has its own sidecar; the sidecars are scraped in"
        " turn."
    ),
    lines=LINES,
    measure=measure,
    seconds=(300.0, 70.0),
)
