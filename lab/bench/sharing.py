"""Two scrapers and the page at once compared with one scraper: clients share one collection."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from lab.bench import rig
from lab.bench.exporters import Cost, Exporter, Meter
from lab.bench.figures import Benchmark, BenchRun, Figure

PERIOD = 5.0
"""Seconds between two scrapes of one scraper."""
LOOKS = ("/", "/page/app.js", "/page/page.css", "/page/pictures.css", "/history", "/whatif/settings")
"""Requests of opening the page; none makes the server work."""
POLLED = ("/state", "/advise?last=true", "/overview", "/series", "/events")
"""What the open page asks for again and again."""
INTERVAL = 10.0
"""Seconds between two collections, and so between two rounds of the page."""
_ALONE = "one scraper alone"

Client = Callable[[Exporter, float], None]
"""Uses an exporter until a monotonic time."""


def measure(run: BenchRun) -> None:
    """Run stretches of each kind in turn, on one sidecar."""
    kinds: dict[str, list[Client]] = {
        "alone": [_scraper(0.0)],
        "at once": [_scraper(0.0), _scraper(0.0), _page],
        "apart": [_scraper(0.0), _scraper(PERIOD / 2), _page],
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    seconds = 20.0 if run.short else 60.0
    with rig.idle(run) as (server, ours, _):
        for _ in run.rounds(f"{len(kinds)} stretches of {seconds:.0f} s,", 2, 1):
            for kind, clients in kinds.items():
                meter = Meter(server, ours)
                _together(ours, clients, seconds)
                costs[kind].append(meter.read())

    def a_minute(kind: str, quantity: str) -> list[float]:
        return [cost[quantity] * 60 / cost["seconds"] for cost in costs[kind]]

    run.put("statements", a_minute("at once", "statements"), a_minute("alone", "statements"))
    run.put("server", a_minute("at once", "server"), a_minute("alone", "server"))
    run.put("apart", a_minute("apart", "statements"), a_minute("alone", "statements"))


def _scraper(after: float) -> Client:
    """Scrapes every `PERIOD` seconds, beginning ``after`` seconds into the stretch."""
    return lambda exporter, until: _repeat(exporter.get, PERIOD, after, until)


def _page(exporter: Exporter, until: float) -> None:
    """Opens the page and leaves it open: it asks for all that it shows after each collection."""
    for path in LOOKS:
        exporter.get(path)

    def poll() -> None:
        for path in POLLED:
            exporter.get(path)

    _repeat(poll, INTERVAL, 0.0, until)


def _repeat(work: Callable[[], object], period: float, after: float, until: float) -> None:
    due = time.monotonic() + after
    while due < until:
        time.sleep(max(0.0, due - time.monotonic()))
        work()
        due += period


def _together(ours: Exporter, clients: list[Client], seconds: float) -> None:
    """Run the clients for this long, each over its own connection."""

    def work(client: Client) -> None:
        with closing(Exporter(ours.name, ours.pid, ours.port)) as own:
            client(own, until)

    until = time.monotonic() + seconds
    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(work, clients))  # raises what one of them raised
    time.sleep(max(0.0, until - time.monotonic()))


BENCHMARK = Benchmark(
    name="sharing",
    title="Several clients",
    method=(
        f"One sidecar in three kinds of stretches: one scraper (every {PERIOD:g} s); two scrapers at the same moments"
        " and the open page; two scrapers half a period apart and the page."
        " Statements are those of the sidecar's account, including its work between scrapes."
    ),
    figures={
        "statements": Figure("two scrapers and the page at once: statements a minute", "", _ALONE, most_ratio=1.1),
        "server": Figure("two scrapers and the page at once: server time a minute", "ms", _ALONE),
        "apart": Figure("two scrapers half a period apart, and the page: statements a minute", "", _ALONE),
    },
    measure=measure,
    seconds=(375.0, 75.0),
)
