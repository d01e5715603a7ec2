"""Reads of smaller pools as a restart predicts them: a warm-up that a real Prometheus scrapes from both exporters.

The same load on pools really made so small judges them.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from advisor.fleet import days
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid
from lab.bench import exporters
from lab.curves import judge, workloads
from lab.curves.judge import SmallerPool
from lab.curves.loads import DISTRIBUTIONS, PAGES, Distribution, LookupClient
from lab.curves.measure import PAGES_OF_MIB, SERVERS, workload_name
from lab.curves.predict import held_pages, warm_up
from lab.harness import measure as harness
from lab.harness.campaign import Study
from lab.harness.measure import Counters, Figures, counting, pages_read, per, wait_until
from lab.harness.records import Data, Entries, NotShown, Part, Say
from lab.harness.workloads import make_table
from lab.packages.cache import REPOSITORY
from lab.programs import prometheus
from lab.reports import criterion
from lab.servers import PrivateServer

OPTIONS = {
    "innodb-buffer-pool-size": "240M",
    "innodb-buffer-pool-instances": "1",
    "loose-innodb-buffer-pool-chunk-size": "1M",
    "innodb-flush-method": "O_DIRECT",
    "innodb-lru-scan-depth": workloads.OPTIONS["innodb-lru-scan-depth"],
    "innodb-old-blocks-time": "10",
    "performance-schema": "ON",
}
"""As of the curves, but innodb_old_blocks_time is a hundredth of its default: the smaller pools are read anew within
seconds, and a usual one within minutes."""
GROUP = "warm-ups"
LOADS = tuple(distribution for distribution in DISTRIBUTIONS if distribution.name in ("hot-spot", "zipf-0.9"))
"""Each has a known hot set."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.75)
"""Smaller pools, as shares of the data."""
POOL = 240
"""MiB of the pool that warms up: it holds all the data."""
EVERY = (1, 3, 10)
"""Points that are left: each, each third, each tenth, as of longer scrape intervals or smaller pools."""
SCRAPE = 2.0
JOBS = {"own": "innodb", "peer": "mysql"}
"""The exporters, and the job by which Prometheus scrapes each."""
_RATE = 1_200
"""Lookups a second while the pool fills: slow, so that Prometheus sees as many points as of a large pool."""
_FILLING, _AFTER = 90.0, 8.0
"""Seconds of the warm-up, and of the same load after it, which says how many gets a lookup takes."""
_SETTLE, _PER_SHARE, _MEASURE = 4.0, 8.0, 4.0
"""Seconds of load before a smaller pool is measured, more for larger ones, and of the measurement."""
_FAST = 16_000
_UP_SECONDS = 90.0
_RULES = tuple(
    REPOSITORY / "charts" / "innodb-advisor" / "alerts" / name
    for name in ("recording.rules.yaml", "mysqld-exporter.rules.yaml")
)


def study() -> Study:
    """Each load on each server."""
    parts = [
        Part(GROUP, f"{server}, {distribution.name}", server, OPTIONS, partial(measure, distribution))
        for server in SERVERS
        for distribution in LOADS
    ]
    return Study(parts, lambda entries: criterion.broken(judge.of_warm_ups(scraped_pools(entries))))


def scraped_pools(entries: Entries) -> list[SmallerPool]:
    """The smaller pools: by each exporter, each thinning, each size that the warm-up came through."""
    return [
        pool
        for part, entry in entries.items()
        for exporter in entry["data"]["filling"]
        for every in EVERY
        for pool in _through_prometheus(part, entry, exporter, every)
    ]


def _through_prometheus(part: str, entry: Mapping[str, Any], exporter: str, every: int) -> Iterator[SmallerPool]:
    server, data = entry["server"], entry["data"]
    rows = data["filling"][exporter]
    pages, read, gets = ({row[0]: row[column] for row in rows[::every]} for column in (1, 2, 3))
    filling = warm_up(pages, read, gets, POOL, mariadb=server.startswith("mariadb"))
    for share, measured in data["measured"].items():
        # The server's own pages are in the pool before anything is asked for. Pools a thousand times as large would not
        # notice them; of these here they are a part, and none that a smaller pool would keep.
        held = held_pages(mebibytes(float(share))) + rows[0][1]
        if filling is not None and filling.knows(held):
            expected, most = (reads(held) * data["accesses"] for reads in (filling.expected, filling.most))
            yield SmallerPool(server, workload_name(part), exporter, every, float(share), measured, expected, most)


def measure(distribution: Distribution, server: PrivateServer, say: Say) -> Data:
    """Watch a warm-up, then count the reads of smaller pools under the same load.

    Args:
        distribution: Which pages are asked for.
        server: Runs with OPTIONS.
        say: Takes a progress message.

    Returns:
        ``filling``: by exporter, the points that Prometheus recorded: Unix seconds, pages, pages read, gets.
        ``accesses``: by exporter, gets a lookup once it is warm, without those that MySQL repeats. ``measured``: by
        share of the data, pages read a lookup.

    Raises:
        NotShown: Prometheus recorded nothing.
    """
    with server.connect() as connection:
        for table, pages in distribution.tables.items():
            make_table(connection, table, pages)
    server.restart({"innodb-buffer-pool-size": f"{POOL}M"})
    say("the pool warms up")
    with LookupClient(server, distribution) as client, _watched(server) as watching:
        began = time.time() - SCRAPE
        client.run(_FILLING, _RATE)
        warm = _count(server, client, _AFTER, _RATE)
        filling = asyncio.run(_recorded(watching, began))
    # MySQL gets a page again once it is read.
    accesses = warm["gets"] if server.name.startswith("mariadb") else warm["gets"] - warm["read"]
    measured = {}
    for share in SHARES:
        say(f"a pool of {share:.0%} of the data is measured")
        server.restart({"innodb-buffer-pool-size": f"{mebibytes(share)}M"})
        with LookupClient(server, distribution) as client:
            client.run(_SETTLE + _PER_SHARE * share, _FAST)
            measured[str(share)] = round(_count(server, client, _MEASURE, _FAST)["read"], 5)
    return {"pages": PAGES, "filling": filling, "accesses": round(accesses, 3), "measured": measured}


def _count(server: PrivateServer, client: LookupClient, seconds: float, rate: float) -> Figures:
    """Pages read and gets a lookup, while the client looks up for so long."""
    counters: Counters = {
        "done": lambda _: client.done,
        "read": pages_read,
        **counting(gets="Innodb_buffer_pool_read_requests"),
    }
    return per(harness.measure(server, partial(client.run, seconds, rate), counters=counters), "done")


def mebibytes(share: float) -> int:
    """The pool of a share of the data."""
    return round(share * PAGES / PAGES_OF_MIB)


@contextlib.contextmanager
def _watched(server: PrivateServer) -> Iterator[str]:
    """The URL of a Prometheus with the shipped recording rules, scraping both exporters; rates over 10 s, not 5 m."""
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-warm-up-") as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        rules = [folder / path.name for path in _RULES]
        for path, scaled in zip(_RULES, rules, strict=True):
            scaled.write_text(path.read_text(encoding="utf-8").replace("[5m]", "[10s]"), encoding="utf-8")
        own = stack.enter_context(exporters.sidecar(server, "--interval", f"{SCRAPE:g}s"))
        peer = stack.enter_context(exporters.peer(server))
        ports = {"own": own.port, "peer": peer.port}
        jobs = [prometheus.job(job, f"127.0.0.1:{ports[name]}") for name, job in JOBS.items()]
        started = stack.enter_context(prometheus.running(folder, jobs, rules=rules, interval=SCRAPE))
        wait_until(
            lambda: len(started.query('{__name__=~"instance:.*pages:filling"}')) == len(JOBS),
            _UP_SECONDS,
            "Prometheus recorded no counters of a pool that fills",
        )
        yield started.url


async def _recorded(url: str, began: float) -> dict[str, list[list[float]]]:
    """By exporter, what Prometheus recorded since then, as the fleet asks for it."""
    end = time.time()
    daily = Grid(end, (end - began) / days.COUNT, days.COUNT)
    recorded = {}
    async with PrometheusClient(url) as client:
        for exporter, job in JOBS.items():
            key = ServerKey("127.0.0.1", {"instance": "127.0.0.1"})
            [seen] = (await days.ask(FleetReader(client, Identity(), f'job="{job}"', daily), (key,))).values()
            recorded[exporter] = _rows(seen.filling)
    return recorded


def _rows(filling: days.Counters) -> list[list[Any]]:
    pages, read, gets = (filling.get(name, {}) for name in ("pages", "read", "gets"))
    rows = [[round(at, 1), pages[at], read[at], gets[at]] for at in sorted(pages.keys() & read.keys() & gets.keys())]
    if not rows:
        raise NotShown("Prometheus recorded no counters of a pool that fills")
    return rows
