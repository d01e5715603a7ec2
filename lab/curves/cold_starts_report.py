"""The measured parts of docs/cold-start.md, from the record."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.pool.cold_start import NEARLY, WARM
from lab.curves.cold_starts import DUMPS, GROUP, LOADS, FilledPool, fillings
from lab.curves.measure import SERVERS
from lab.harness import records
from lab.reports.markdown import ran_on, table

_TITLES = (
    "load",
    "server",
    "loaded from the dump",
    f"minutes to {NEARLY:.0%} of the hits",
    "thousands of visits until then",
    f"minutes to {WARM:.0%}",
    "pages read",
)


def measured() -> str:
    """Each filling, beside what was foretold."""
    record = records.load(GROUP)
    if record is None:
        return "Not measured yet.\n"
    pools = fillings(record["parts"])
    rows = [
        row
        for server in SERVERS
        for load in LOADS
        for row in _rows([pool for pool in pools if (pool.server, pool.load) == (server, load.name)])
    ]
    timely, near = (sum(holds) for holds in ([pool.timely for pool in pools], [pool.counted for pool in pools]))
    about = "".join(f"- `{load.name}`: {load.about}; a pool of {load.mebibytes} MiB.\n" for load in LOADS)
    kept = f"Minutes as foretold: {timely} of {len(pools)}. Pages: {near} of {len(pools)}."
    return f"{about}\n{table(_TITLES, rows)}\n{kept} {ran_on(record)}\n"


def _rows(pools: Sequence[FilledPool]) -> list[list[str]]:
    order = list(DUMPS)
    return [
        [
            pool.load,
            pool.server,
            pool.dump,
            _minutes(
                pool,
                NEARLY,
                pool.start.minutes_to_90,
                pool.start.minutes_to_90_low,
                pool.start.minutes_to_90_high,
                holds=pool.timely,
            ),
            ": ".join(map(_thousands, (pool.visits(pool.filling), pool.visits(pool.likely)))),
            _minutes(pool, WARM, pool.start.minutes_to_99, pool.start.minutes_to_99_low, pool.start.minutes_to_99_high),
            _bold(f"{pool.pages[1]:,.0f}: {pool.pages[0]:,.0f} ({pool.pages_off:+.0%})", holds=pool.counted),
        ]
        for pool in sorted(pools, key=lambda pool: order.index(pool.dump))
    ]


def _minutes(
    pool: FilledPool, hits: float, foretold: float | None, low: float | None, high: float | None, *, holds: bool = True
) -> str:
    """Measured, foretold and the interval."""
    measured = pool.minutes(hits)
    text = f"{_number(measured)}: {_number(foretold)}"
    if foretold is not None:
        text += f" ({_number(low)}–{_number(high)})"
    return _bold(text, holds=holds)


def _thousands(visits: float | None) -> str:
    return "–" if visits is None else f"{visits / 1000.0:,.1f}"


def _number(minutes: float | None) -> str:
    return "–" if minutes is None else f"{minutes:.2f}"


def _bold(text: str, *, holds: bool) -> str:
    return text if holds else f"**{text}**"
