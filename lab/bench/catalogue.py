"""A scrape of a server with 10,000 tables beside one with ten."""

from __future__ import annotations

import time

from lab.bench import costs
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.many_tables import kept, started
from lab.bench.pool_size import compare
from lab.bench.rig import watched

FEW, MANY, MANY_SHORT = 10, 10_000, 2_500
"""The short form still exceeds table_definition_cache (2,000)."""
PERIOD = 60.0
"""Seconds; the catalogue's slowest collectors run once in this time."""
_BESIDE = f"{FEW} tables"
LINES = {
    "latency": Line(f"{MANY:,} tables (short: {MANY_SHORT:,}): latency of a scrape", "ms", _BESIDE, Bound(most=3.0)),
    "samples": Line(f"{MANY:,} tables (short: {MANY_SHORT:,}): samples", "", _BESIDE, Bound(most=2000, of="value")),
    "period": Line(f"{MANY:,} tables (short: {MANY_SHORT:,}): server time of a minute without a scrape", "ms", _BESIDE),
    "period_cpu": Line(f"{MANY:,} tables (short: {MANY_SHORT:,}): CPU of the sidecar in such a minute", "ms", _BESIDE),
    "rss": Line(f"{MANY:,} tables (short: {MANY_SHORT:,}): resident memory", "MiB", _BESIDE),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Run both servers at the same time and scrape them in turn."""
    many = MANY_SHORT if effort.short else MANY
    say(f"{many:,} tables (creating them takes minutes; then they are cached)")
    with (
        started(kept(FEW), FEW) as small,
        started(kept(many), many) as large,
        watched(small) as one,
        watched(large) as other,
    ):
        say("what the sidecar does between scrapes")
        meters = [costs.Meter(server, each) for server, each in ((small, one), (large, other))]
        time.sleep(PERIOD / (4 if effort.short else 1))
        spent = [meter.read() for meter in meters]
        reference, ours = compare(((small, one), (large, other)), effort.rounds(60, 12), say)
        scale = [PERIOD * 1000 / each.seconds for each in spent]
        return Measurement(
            {
                "latency": Values(
                    ours=tuple(each.latency_ms for each in ours), beside=tuple(each.latency_ms for each in reference)
                ),
                "samples": Values(
                    ours=tuple(each.samples for each in ours), beside=tuple(each.samples for each in reference)
                ),
                "period": Values(
                    ours=(spent[1].asked.seconds * scale[1],), beside=(spent[0].asked.seconds * scale[0],)
                ),
                "period_cpu": Values(ours=(spent[1].cpu * scale[1],), beside=(spent[0].cpu * scale[0],)),
                "rss": Values(ours=(other.rss_mib(),), beside=(one.rss_mib(),)),
            },
            {"MySQL": large.version, "tables": f"{many:,}"},
        )


FIGURE = Figure(
    name="catalogue",
    title="The number of tables",
    about=(
        f"Two servers run at the same time, one with {FEW} tables, one with {MANY:,} ({MANY_SHORT:,} in the short"
        " form) in ten schemas. Each table has one row, a secondary index and statistics, and was read once since the"
        " server's start. Each server has its own sidecar; the sidecars are scraped in turn."
    ),
    lines=LINES,
    measure=measure,
    seconds=(300.0, 80.0),
)
