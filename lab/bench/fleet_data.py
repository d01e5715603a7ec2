"""A fleet for a Prometheus: thousands of servers, whose series are those of real scrapes under load."""

from __future__ import annotations

import functools
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from lab.bench import exporters
from lab.bench.exporters import SCRAPE_SECONDS, Exporter
from lab.bench.figures import Say
from lab.bench.rig import TABLE_PAGES, TABLES, settle
from lab.bench.scan_load import HOT, scanned_server, scanning
from lab.harness.workloads import SCHEMA, Load, count, look_up, make_table
from lab.processes.service import PLAIN
from lab.programs import block_writer, mysqld_exporter
from lab.programs.block_writer import Plan, Series, Target, Written

PEER, CALM, OWN, TREND = "mysqld_exporter", "calm", "innodb_advisor", "trend"
"""The templates: CALM is of mysqld_exporter too, while nothing needs advice."""
STEP = 15.0
"""Seconds between two scrapes of a target."""
BEFORE, AHEAD = 4200.0, 2400.0
"""Seconds of the block before the moment that it is written: a window and five minutes; and after it: for the writing
and the bench, on a busy machine too."""
DAYS, TREND_STEP = 7, 60.0
RECORDED = "instance:innodb_buffer_pool_pages_read:rate5m"
"""What recording.rules.yaml keeps for days."""
WITH_SIDECAR, TROUBLED = 0.1, 0.1
"""Shares of the servers: with the sidecar beside mysqld_exporter; with a load that needs advice."""
BUSY = 0.5, 2.0
"""How busy a server is, by the server of its template."""
INTERVAL, COUNT_EVERY = 2.0, 5.0


def templates(say: Say, warming: float, apart: float) -> dict[str, list[Series]]:
    """The series of mysqld_exporter with all flags and of the sidecar, on a server under a load that needs advice.

    Also those of mysqld_exporter under lookups in a table that the pool holds.

    Args:
        say: Takes progress messages.
        warming: Seconds of load before the first scrape.
        apart: Seconds between the two scrapes.

    Raises:
        Unavailable: There is no such server or exporter here.
    """
    with scanned_server() as server, tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder:
        with server.connect() as connection:
            for number in range(TABLES):
                make_table(connection, f"t{number}", TABLE_PAGES)
        exporters.create_accounts(server)
        with (
            exporters.sidecar(server, Path(folder), "--interval", f"{INTERVAL:g}s") as ours,
            mysqld_exporter.running(server, Path(folder), exporters.PEER, *mysqld_exporter.ALL_FLAGS) as service,
            Exporter(exporters.PEER, service.pid, service.port) as peer,
        ):
            # mysqld_exporter leaves out statements without a default schema.
            with scanning(server), Load(functools.partial(server.connect, database=SCHEMA)) as load:
                load.repeat(lambda connection: count(connection, HOT), pause=COUNT_EVERY)
                settle(ours, peer)
                say(f"{warming + apart:.0f} s of load, for the scrapes that every server's series are made of")
                first, second = _scraped_twice(warming, apart, peer, ours)
            with Load(server.connect) as load:
                load.repeat(lambda connection: look_up(connection, "t0", TABLE_PAGES, 50), pause=0.1)
                say(f"{2 * apart:.0f} s of lookups in a table that the pool holds")
                calm, later = _scraped_twice(apart, apart, peer)
    made = {
        name: [_of_its_age(each) for each in block_writer.template(one, other, apart)]
        for name, one, other in zip((PEER, OWN, CALM), first + calm, second + later, strict=True)
    }
    return made | {TREND: [Series(labels={"__name__": RECORDED}, value=5.0, rate=100.5)]}


def _of_its_age(series: Series) -> Series:
    """An uptime without the one that was scraped: a server's exporters, made at different times, agree on its start."""
    return series.model_copy(update={"value": 0.0}) if series.grows == "clock" else series


def _scraped_twice(warming: float, apart: float, *of: Exporter) -> tuple[list[str], list[str]]:
    time.sleep(warming)
    first = _scraped(*of)
    time.sleep(apart)
    return first, _scraped(*of)


def _scraped(*of: Exporter) -> list[str]:
    """Texts of the classic format."""
    return [httpx.get(f"http://127.0.0.1:{each.port}/metrics", timeout=SCRAPE_SECONDS, **PLAIN).text for each in of]


def write(folder: Path, made: Mapping[str, list[Series]], clusters: Mapping[str, int], now: float) -> Written:
    """Write the fleet's blocks: an hour and more of all targets, and days of the recorded series.

    Args:
        folder: Prometheus' data.
        made: From `templates`.
        clusters: The number of servers of each.
        now: Unix seconds; the blocks go on beyond.
    """
    raw = list(targets(clusters))
    recorded = [each.model_copy(update={"template": TREND}) for each in raw if each.template == OWN]
    # One block ends where the other begins: Prometheus merges blocks that overlap.
    days, start, end = (_milliseconds(now + each) for each in (-DAYS * 86_400.0, -BEFORE, AHEAD))
    written = _block(folder, made, raw + recorded, (start, end), STEP)
    trend = _block(folder, made, recorded, (days, start), TREND_STEP)
    return Written(series=written.series + trend.series, samples=written.samples + trend.samples)


def _block(
    folder: Path, made: Mapping[str, list[Series]], chosen: Sequence[Target], span: tuple[int, int], step: float
) -> Written:
    used = {each.template for each in chosen}
    return block_writer.write(
        Plan(
            folder=str(folder),
            start=span[0],
            end=span[1],
            step=_milliseconds(step),
            templates={name: series for name, series in made.items() if name in used},
            targets=chosen,
        )
    )


def targets(clusters: Mapping[str, int]) -> Iterator[Target]:
    """The fleet's targets: mysqld_exporter of each server, and some sidecars."""
    chooser = random.Random(1)
    for cluster, servers in clusters.items():
        for number in range(servers):
            peer = PEER if chooser.random() < TROUBLED else CALM
            busy = chooser.uniform(*BUSY)
            age = chooser.uniform(1.0, 60.0) * 86_400
            jobs = {peer: ("mysql", 9104)}
            if chooser.random() < WITH_SIDECAR:
                jobs[OWN] = ("innodb-advisor", 9747)
            for template, (job, port) in jobs.items():
                yield Target(
                    labels={"cluster": cluster, "instance": f"db-{number:04}.{cluster}.example:{port}", "job": job},
                    template=template,
                    busy=busy,
                    age=age,
                    offset=chooser.randrange(_milliseconds(STEP)),
                )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
