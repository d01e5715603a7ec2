"""The conclusion of E1: counts compared with the published ones and the model's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from advisor.models.parallel_read import ParallelRead
from lab.experiments.base import Cell, Column, Conclusion, Expectation
from lab.experiments.e1.experiment import GROWN, ORDERED, PARALLEL, ROWS, SERIAL, THREADS
from lab.harness.records import Data

PUBLISHED = {1: 33.07, 2: 19.65, 4: 13.16, 8: 8.81, 16: 7.43, 32: 7.16}
"""Seconds by threads: seed 000, MySQL 8.0.14 on two virtual cores, the first count after a restart."""
PUBLISHED_CORES, PUBLISHED_ROWS = 2, 2**24
PUBLISHED_SERIAL = 32.94  # seconds, MySQL 5.7.25
PLACES = {GROWN: "as they came", ORDERED: "in key order"}
ADVISED = 4
"""Threads that the rule may advise for two cores: two per core."""
WITHIN = 0.2
"""The largest error of the model."""
SLOWER = 1.5
"""A ratio of durations above this is not chance."""

COLUMNS = (
    Column("server"),
    Column("pages lie"),
    Column("threads"),
    Column("published, s", ".2f"),
    Column("its speed-up", ".2f"),
    Column("model of it", ".2f"),
    Column("ours, s", ".3f"),
    Column("our speed-up", ".2f"),
    Column("model, from one thread", ".2f"),
    Column("model, reads as slow as they were", ".2f"),
    Column("pages read"),
    Column("of them waited for"),
    Column("waits of all threads, s", ".2f"),
    Column("CPU time, s", ".2f"),
)


@dataclass(frozen=True)
class CountCost:
    """The counts of one table with one number of threads: medians of `experiment.counted`."""

    threads: int
    seconds: float
    threads_made: float
    load: float
    pages: float
    waited_for: float
    read_ahead: float
    cpu_seconds: float
    wait_seconds: float

    @property
    def wait_ms(self) -> float:
        """Milliseconds of a wait for a page."""
        return 1000.0 * self.wait_seconds / self.waited_for

    @property
    def unaccounted(self) -> float:
        """Seconds of a count by one thread, without its CPU time and its reads."""
        return max(0.0, self.seconds - self.cpu_seconds - self.wait_seconds)


@dataclass(frozen=True)
class CountSeries:
    """The counts of one table with all numbers of threads.

    Attributes:
        leaf_pages: Leaf pages of its clustered index.
        subtrees: Subtrees of its root. Threads share them; more threads than subtrees are idle.
        by_threads: Its counts.
        cores: Cores available to the server.
    """

    leaf_pages: float
    subtrees: int
    by_threads: Mapping[int, CountCost]
    cores: int

    @property
    def model(self) -> ParallelRead:
        """The model with the count of one thread as its input."""
        one = self.by_threads[1]
        return ParallelRead(one.seconds, 1.0, one.wait_seconds, self.cores)

    def speed_up(self, threads: int) -> float:
        """The measured speed-up."""
        return self.by_threads[1].seconds / self.by_threads[threads].seconds

    def at_work(self, threads: int) -> int:
        """The number of threads with something to read."""
        return min(threads, self.subtrees)

    def foretold(self, threads: int) -> float:
        """The model's speed-up, if reads take as long as with one thread."""
        return self.model.seconds / self.model.seconds_with(self.at_work(threads))

    def foretold_with_its_waits(self, threads: int) -> float:
        """The model's speed-up with the measured duration of reads for this number of threads."""
        one, working = self.model, self.at_work(threads)
        waits = self.by_threads[threads].wait_seconds
        return one.seconds / (one.cpu_seconds / min(working, self.cores) + waits / working)


def published_model() -> ParallelRead:
    """The model of the published table. Its waits are unknown; they are fitted to the times with 1 and 32 threads."""
    one, most = PUBLISHED[1], max(PUBLISHED)
    waits = (one / PUBLISHED_CORES - PUBLISHED[most]) / (1.0 / PUBLISHED_CORES - 1.0 / most)
    return ParallelRead(one, 1.0, waits, PUBLISHED_CORES)


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per server, table and number of threads."""
    grown, ordered, serial = (
        _series(parts[part], table) for part, table in ((PARALLEL, GROWN), (PARALLEL, ORDERED), (SERIAL, GROWN))
    )
    return Conclusion(
        columns=COLUMNS,
        rows=(
            *(_row(grown, PLACES[GROWN], each) for each in THREADS),
            *(_row(ordered, PLACES[ORDERED], each) for each in THREADS),
            _serial_row(serial),
        ),
        checks=_checks(grown, ordered, serial),
        differences=tuple(_differences(grown, ordered, serial)),
        plot={
            "threads": list(THREADS),
            "published": [round(PUBLISHED[1] / PUBLISHED[each], 2) for each in THREADS],
            "published_model": [round(_published_foretold(each), 2) for each in THREADS],
            "grown": [round(grown.speed_up(each), 2) for each in THREADS],
            "grown_model": [round(grown.foretold(each), 2) for each in THREADS],
            "grown_model_with_its_waits": [round(grown.foretold_with_its_waits(each), 2) for each in THREADS],
            "ordered": [round(ordered.speed_up(each), 2) for each in THREADS],
            "ordered_model": [round(ordered.foretold(each), 2) for each in THREADS],
        },
    )


def _series(part: Data, table: str) -> CountSeries:
    found = part["tables"][table]
    by_threads = {
        int(threads): CountCost(
            int(threads), **{name: statistics.median(one[name] for one in runs) for name in runs[0]}
        )
        for threads, runs in found["counts"].items()
    }
    return CountSeries(found["leaf_pages"], found["subtrees"], by_threads, part["cores"])


def _published_foretold(threads: int) -> float:
    model = published_model()
    return model.seconds / model.seconds_with(threads)


def _row(series: CountSeries, place: str, threads: int) -> tuple[Cell, ...]:
    counts = series.by_threads[threads]
    published: tuple[Cell, ...] = (None, None, None)
    if place == PLACES[GROWN]:
        published = (PUBLISHED[threads], PUBLISHED[1] / PUBLISHED[threads], _published_foretold(threads))
    return (
        PARALLEL,
        place,
        threads,
        *published,
        counts.seconds,
        series.speed_up(threads),
        series.foretold(threads),
        series.foretold_with_its_waits(threads),
        *_counters(counts),
    )


def _serial_row(serial: CountSeries) -> tuple[Cell, ...]:
    one = serial.by_threads[1]
    return (SERIAL, PLACES[GROWN], 1, PUBLISHED_SERIAL, None, None, one.seconds, None, None, None, *_counters(one))


def _counters(counts: CountCost) -> tuple[Cell, ...]:
    return counts.pages, counts.waited_for, counts.wait_seconds, counts.cpu_seconds


def _checks(grown: CountSeries, ordered: CountSeries, serial: CountSeries) -> tuple[Expectation, ...]:
    counts = list(grown.by_threads.values())
    every = [each.pages / series.leaf_pages for series in (grown, ordered) for each in series.by_threads.values()]
    off = [_published_foretold(each) / PUBLISHED[1] * PUBLISHED[each] for each in THREADS]
    return (
        Expectation("pages read by a count beside the table's, fewest", min(every), least=0.95),
        Expectation("pages read by a count beside the table's, most", max(every), most=1.05),
        Expectation(
            f"pages read by {SERIAL} beside those of {PARALLEL} with one thread",
            serial.by_threads[1].pages / grown.by_threads[1].pages,
            least=0.95,
            most=1.05,
        ),
        Expectation(
            "threads made for a count beside those allowed, fewest",
            min(each.threads_made / each.threads for each in counts if each.threads > 1),
            least=1.0,
            most=1.0,
        ),
        Expectation(
            "pages as they came: share that one thread waits for",
            grown.by_threads[1].waited_for / grown.by_threads[1].pages,
            least=0.95,
        ),
        Expectation(
            "pages in key order: share that one thread waits for",
            ordered.by_threads[1].waited_for / ordered.by_threads[1].pages,
            most=0.1,
        ),
        Expectation(
            f"pages as they came: speed-up with {ADVISED} threads (published: {PUBLISHED[1] / PUBLISHED[ADVISED]:.2f})",
            grown.speed_up(ADVISED),
            least=1.5,
        ),
        Expectation(
            f"speed-up with {ADVISED} threads, pages as they came beside pages in key order",
            grown.speed_up(ADVISED) / ordered.speed_up(ADVISED),
            least=1.0,  # what is no wait for a read is shared among the cores there too
        ),
        *(
            Expectation(
                f"pages as they came, {each} threads: the model's speed-up with reads as slow as they were beside ours",
                grown.foretold_with_its_waits(each) / grown.speed_up(each),
                least=1.0 - WITHIN,
                most=1.0 + WITHIN,
            )
            for each in THREADS
            if 1 < each <= ADVISED
        ),
        Expectation(
            "the model's speed-up beside the published one, lowest of all numbers of threads",
            min(off),
            least=1.0 - WITHIN,
        ),
        Expectation(
            "the model's speed-up beside the published one, highest of all numbers of threads",
            max(off),
            most=1.0 + WITHIN,
        ),
    )


def _differences(grown: CountSeries, ordered: CountSeries, serial: CountSeries) -> Iterator[str]:
    most = max(THREADS)
    one, last = grown.by_threads[1], grown.by_threads[most]
    for each in (ADVISED, most):
        measured, foretold, told = (of(each) for of in (grown.speed_up, grown.foretold, grown.foretold_with_its_waits))
        if abs(foretold / measured - 1.0) > WITHIN and abs(told - measured) < 0.5 * abs(foretold - measured):
            wait = grown.by_threads[each].wait_ms
            why = "it serves a limited number of reads" if wait > one.wait_ms else "other work used it less"
            yield (
                f"With {each} threads the model predicts {foretold:.1f} times the speed of one; {measured:.1f} was"
                f" measured. The model assumes that the disk is as fast as with one thread. But a wait for a page took"
                f" {one.wait_ms:.2f} ms with one thread, and {wait:.2f} ms with {each}: {why}. With the measured"
                f" duration it predicts {told:.1f}."
            )
    if grown.subtrees < most:
        yield (
            f"More than {grown.subtrees} threads gain nothing: the root of this table has {grown.subtrees} subtrees,"
            f" and each is read by one thread. The published table has {PUBLISHED_ROWS // ROWS} times as many rows."
        )
    if last.load > 2 * grown.cores and grown.speed_up(most) < (1.0 - WITHIN) * grown.foretold_with_its_waits(most):
        yield (
            f"With {most} threads the model predicts {grown.foretold_with_its_waits(most):.1f} times the speed of one,"
            f" from the measured duration of reads and the number of busy threads; {grown.speed_up(most):.1f} was"
            f" measured. The machine had other work: its load average was {last.load:.1f} on {grown.cores} cores. No"
            " counter of the server shows a thread that waits for a core."
        )
    share, here = published_model().wait_share, grown.model.wait_share
    if here > share:
        yield (
            f"The published waits are unknown. Fitted to the times with 1 and {most} threads, they are {share:.0%} of"
            f" one thread's time. Here they are {here:.0%}, so more of it can overlap: {ADVISED} threads are"
            f" {grown.speed_up(ADVISED):.2f} times as fast as one, not {PUBLISHED[1] / PUBLISHED[ADVISED]:.2f} times."
        )
    first = ordered.by_threads[1]
    yield (
        f"The gain needs pages in random order. In the copy with pages in key order, {first.read_ahead:,.0f} of"
        f" {first.pages:,.0f} pages were read ahead: one thread waits {first.wait_seconds:.2f} s for reads instead of"
        f" {one.wait_seconds:.2f} s, and {ADVISED} threads are {ordered.speed_up(ADVISED):.2f} times as fast."
    )
    if first.unaccounted > 0.2 * first.seconds and ordered.speed_up(ADVISED) < (1.0 - WITHIN) * ordered.foretold(
        ADVISED
    ):
        yield (
            f"There the model predicts more, {ordered.foretold(ADVISED):.1f}: it counts all time without a wait for a"
            f" read as CPU time. Of the {first.seconds:.2f} s of one thread the server used the CPU for"
            f" {first.cpu_seconds:.2f} s. {first.unaccounted:.2f} s are neither CPU time nor own reads: the thread"
            " waits for pages of read-ahead, or for a core. The rule on too few threads uses only waits for reads and"
            " stays silent."
        )
    alone = serial.by_threads[1]
    if max(alone.wait_ms, one.wait_ms) > SLOWER * min(alone.wait_ms, one.wait_ms):
        yield (
            f"{SERIAL} takes {alone.seconds / one.seconds:.1f} times as long as one thread of {PARALLEL}"
            f" (published for 5.7.25: {PUBLISHED_SERIAL / PUBLISHED[1]:.1f}), for the same pages: a read took"
            f" {alone.wait_ms:.2f} ms on {SERIAL}, and {one.wait_ms:.2f} ms on {PARALLEL}."
        )
