"""Two scrapers and the page at once compared with one scraper: clients share one collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from lab.bench import costs
from lab.bench.exporters import Exporter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import rig

PERIOD = 5.0
"""Seconds between two scrapes of one scraper."""
LOOKS = ("/", "/page/app.js", "/page/page.css", "/page/pictures.css", "/history", "/whatif/settings")
"""Requests of opening the page; none makes the server work."""
POLLED = ("/state", "/advise?last=true", "/overview", "/series", "/events")
"""What the open page asks for again and again."""
INTERVAL = 10.0
"""Seconds between two collections, and so between two rounds of the page."""
_ALONE = "one scraper alone"
LINES = {
    "statements": Line("two scrapers and the page at once: statements a minute", "", _ALONE, Bound(most=1.1)),
    "server": Line("two scrapers and the page at once: server time a minute", "ms", _ALONE),
    "apart": Line("two scrapers half a period apart, and the page: statements a minute", "", _ALONE),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Run stretches of each kind in turn, on one sidecar."""
    with rig() as running:
        ours = running.ours
        kinds: dict[str, Sequence[Callable[[Exporter, float], None]]] = {
            "alone": [scraper(0.0)],
            "at once": [scraper(0.0), scraper(0.0), page],
            "apart": [scraper(0.0), scraper(PERIOD / 2), page],
        }
        stretches = effort.rounds(2, 1)
        seconds = 20.0 if effort.short else 60.0
        found: dict[str, list[costs.Consumption]] = {kind: [] for kind in kinds}
        for number in range(1, stretches + 1):
            for kind, askers in kinds.items():
                say(f"{seconds:.0f} s, {kind}, {number} of {stretches}")
                meter = costs.Meter(running.server, ours)
                together(ours, askers, seconds)
                found[kind].append(meter.read())
        statements = {kind: _a_minute(spent, lambda each: each.asked.statements) for kind, spent in found.items()}
        server = {kind: _a_minute(spent, lambda each: each.asked.seconds * 1000) for kind, spent in found.items()}
        return Measurement(
            {
                "statements": Values(ours=statements["at once"], beside=statements["alone"]),
                "server": Values(ours=server["at once"], beside=server["alone"]),
                "apart": Values(ours=statements["apart"], beside=statements["alone"]),
            },
            {"MySQL": running.server.version},
        )


def _a_minute(spent: Sequence[costs.Consumption], of: Callable[[costs.Consumption], float]) -> tuple[float, ...]:
    return tuple(of(each) * 60 / each.seconds for each in spent)


def scraper(after: float) -> Callable[[Exporter, float], None]:
    """Scrapes every `PERIOD` seconds, beginning ``after`` seconds into the stretch."""

    def work(exporter: Exporter, until: float) -> None:
        _every(PERIOD, after, until, exporter.scrape)

    return work


def page(exporter: Exporter, until: float) -> None:
    """Opens the page and leaves it open: it asks for all that it shows after each collection."""
    for path in LOOKS:
        exporter.get(path)

    def ask() -> None:
        for path in POLLED:
            exporter.get(path)

    _every(INTERVAL, 0.0, until, ask)


def _every(period: float, after: float, until: float, work: Callable[[], object]) -> None:
    due = time.monotonic() + after
    while due < until:
        time.sleep(max(0.0, due - time.monotonic()))
        work()
        due += period


def together(ours: Exporter, askers: Sequence[Callable[[Exporter, float], None]], seconds: float) -> None:
    """Run the clients for this long, each over its own connection."""

    def run(asker: Callable[[Exporter, float], None]) -> None:
        with Exporter(ours.name, ours.pid, ours.port) as own:
            asker(own, until)

    until = time.monotonic() + seconds
    with ThreadPoolExecutor(len(askers)) as threads:
        list(threads.map(run, askers))  # raises what one of them raised
    time.sleep(max(0.0, until - time.monotonic()))


FIGURE = Figure(
    name="sharing",
    title="Several clients",
    about=(
        f"One sidecar in three kinds of stretches: one scraper (every {PERIOD:g} s); two scrapers at the same moments"
        " and the open page; two scrapers half a period apart and the page."
        " Statements are those of the sidecar's account, including its work between scrapes."
    ),
    lines=LINES,
    measure=measure,
    seconds=(375.0, 75.0),
)
