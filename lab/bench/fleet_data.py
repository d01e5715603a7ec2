"""A fleet for a Prometheus: thousands of servers, whose series are those of real scrapes under load."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from lab.bench import rig
from lab.bench.exporters import SCRAPE_SECONDS, Exporter, settle, sidecar
from lab.bench.figures import BenchRun
from lab.demo import HOT
from lab.harness.workloads import SCHEMA, BackgroundLoad, count, look_up
from lab.processes.program import PLAIN
from lab.programs import block_writer, mysqld_exporter
from lab.programs.block_writer import BlockSeries, BlockTarget

PEER, CALM, OWN, TREND = "mysqld_exporter", "calm", "innodb_advisor", "trend"
"""The templates: CALM is of mysqld_exporter too, while nothing needs advice."""
STEP = 15_000
"""Milliseconds between two scrapes of a target."""
BEFORE, AHEAD = 4_200_000, 2_400_000
"""Milliseconds of the block before the moment that it is written: a window and five minutes; and after it: for the
writing and the benchmark, on a busy machine too."""
DAY, DAYS, TREND_STEP = 86_400_000, 7, 60_000
RECORDED = "instance:innodb_buffer_pool_pages_read:rate5m"
"""What recording.rules.yaml keeps for days."""
WITH_SIDECAR, TROUBLED = 0.1, 0.1
"""Shares of the servers: with the sidecar beside mysqld_exporter; with a load that needs advice."""
BUSY = 0.5, 2.0
"""How busy a server is, by the server of its template."""
INTERVAL, COUNT_EVERY = 2.0, 5.0


def templates(run: BenchRun, warming: float, apart: float) -> dict[str, list[BlockSeries]]:
    """The series of mysqld_exporter with all flags and of the sidecar, on a server under a load that needs advice.

    Also those of mysqld_exporter under lookups in a table that the pool holds.

    Args:
        run: Takes progress messages, and the versions of the programs.
        warming: Seconds of load before the first scrape.
        apart: Seconds between the two scrapes.

    Raises:
        UnavailableHere: There is no such server or exporter here.
    """
    with rig.scanned(run) as server:
        rig.make_small_tables(server)
        with (
            sidecar(server, "--interval", f"{INTERVAL:g}s") as ours,
            rig.compared(run, server, *mysqld_exporter.ALL_FLAGS) as theirs,
        ):
            # mysqld_exporter leaves out statements without a default schema.
            with rig.scans(server), BackgroundLoad(functools.partial(server.connect, database=SCHEMA)) as load:
                load.repeat(lambda connection: count(connection, HOT), pause=COUNT_EVERY)
                settle(ours, theirs)
                run.say(f"{warming + apart:.0f} s of load, for the scrapes that every server's series are made of")
                troubled, own = _templates(warming, apart, theirs, ours)
            with BackgroundLoad(server.connect) as load:
                load.repeat(lambda connection: look_up(connection, "t0", rig.TABLE_PAGES, 50), pause=0.1)
                run.say(f"{2 * apart:.0f} s of lookups in a table that the pool holds")
                [calm] = _templates(apart, apart, theirs)
    trend = [BlockSeries(labels={"__name__": RECORDED}, value=5.0, rate=100.5)]
    return {PEER: troubled, OWN: own, CALM: calm, TREND: trend}


def _templates(warming: float, apart: float, *exporters: Exporter) -> list[list[BlockSeries]]:
    """A template from two scrapes of each exporter.

    Uptimes begin at 0: a server's exporters, whose templates were made at different times, agree on its start.
    """
    time.sleep(warming)
    first = [_text(exporter) for exporter in exporters]
    time.sleep(apart)
    second = [_text(exporter) for exporter in exporters]
    return [
        [
            series.model_copy(update={"value": 0.0}) if series.grows == "clock" else series
            for series in block_writer.template(before, after, apart)
        ]
        for before, after in zip(first, second, strict=True)
    ]


def _text(exporter: Exporter) -> str:
    """A scrape in the classic format."""
    return httpx.get(f"http://127.0.0.1:{exporter.port}/metrics", timeout=SCRAPE_SECONDS, **PLAIN).text


def write(
    folder: Path, series: Mapping[str, list[BlockSeries]], clusters: Mapping[str, int], now: float
) -> tuple[int, int]:
    """Write the fleet's blocks: an hour and more of all targets, and days of the recorded series.

    Args:
        folder: Prometheus' data.
        series: From `templates`.
        clusters: The number of servers of each.
        now: Unix seconds; the blocks go on beyond.

    Returns:
        The numbers of series and samples.
    """
    raw = list(_targets(clusters))
    trend = [target.model_copy(update={"template": TREND}) for target in raw if target.template == OWN]
    # One block ends where the other begins: Prometheus merges blocks that overlap.
    moment = round(now * 1000)
    recent = block_writer.write(folder, (moment - BEFORE, moment + AHEAD), STEP, series, raw + trend)
    older = block_writer.write(folder, (moment - DAYS * DAY, moment - BEFORE), TREND_STEP, series, trend)
    return recent[0] + older[0], recent[1] + older[1]


def _targets(clusters: Mapping[str, int]) -> Iterator[BlockTarget]:
    """The fleet's targets: mysqld_exporter of each server, and some sidecars."""
    chooser = random.Random(1)
    for cluster, servers in clusters.items():
        for number in range(servers):
            template = PEER if chooser.random() < TROUBLED else CALM
            busy = chooser.uniform(*BUSY)
            age = chooser.uniform(1.0, 60.0) * 86_400
            jobs = {template: ("mysql", 9104)}
            if chooser.random() < WITH_SIDECAR:
                jobs[OWN] = ("innodb-advisor", 9747)
            for name, (job, port) in jobs.items():
                yield BlockTarget(
                    labels={"cluster": cluster, "instance": f"db-{number:04}.{cluster}.example:{port}", "job": job},
                    template=name,
                    busy=busy,
                    age=age,
                    offset=chooser.randrange(STEP),
                )
