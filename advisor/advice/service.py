"""The service: it watches a server, gives advice, remembers it, and answers what-if questions."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor import memory
from advisor.advice import evaluation
from advisor.advice.assessment import Assessment
from advisor.advice.evaluation import Judgement
from advisor.contract.recommendation import Advice
from advisor.contract.settings import SettingValue
from advisor.observe.source import SnapshotSource, window
from advisor.observe.window import Window
from advisor.rules.rulebook import Rulebook
from advisor.whatif.answer import WhatIf, what_if
from advisor.whatif.calibrations import Calibrations
from exporter.connection.errors import ServerError
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

SCRAPE_AGE_SECONDS = 1.0
"""Scrapes within this time of each other share a collection."""
ADVICE_AGE_SECONDS = 10.0
"""Advice that is asked for may be of a collection as old as this: a page left open costs the server nothing."""
LONGEST_WINDOW = 3600.0
"""Seconds that advice looks back at most, and by default."""
WINDOWS = 4
"""Window lengths for which advice is remembered; the longest, which /metrics shows, is always among them."""
COLLECTION_SECONDS = 5.0
"""How long a request waits for a collection. The server may hang, and Prometheus gives up after 10 s by default."""
EVALUATION_SECONDS = 10.0
"""Limit for an evaluation, in seconds of a core; rules that come later are blind, and say so. Seen: 0.3, and 15 for
the largest hot sets."""
SCRAPE_PATIENCE_SECONDS = 1.0
"""How long a scrape waits for advice when the last one is outdated."""
_IDLE = 9.0
"""Between two evaluations the core is idle for so many times as long as the first of them took."""


class Unseen(Exception):
    """Nothing is known of the server; the text says why."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    assessment: Assessment
    idle_until: float  # monotonic clock


class Service:
    """The advice on one server. The command line, HTTP, metrics and Alertmanager share it.

    Attributes:
        source: The server, or a recording.
        book: The rules.
    """

    def __init__(
        self,
        source: SnapshotSource,
        book: Rulebook,
        *,
        evaluate: Callable[..., Judgement] = evaluation.judge,
        model: Callable[[Window, Mapping[str, SettingValue], Calibrations], WhatIf] = what_if,
        collection_seconds: float = COLLECTION_SECONDS,
        evaluation_seconds: float = EVALUATION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is collected yet.

        Args:
            source: The server, or a recording.
            book: The rules.
            evaluate: Judges a window by rules.
            model: Answers what-if questions.
            collection_seconds: How long a request waits for a collection.
            evaluation_seconds: Limit for an evaluation, in seconds of a core.
            clock: Seconds, monotonic.
        """
        self.source, self.book = source, book
        self._evaluate, self._model = evaluate, model
        self._collection_seconds, self._evaluation_seconds = collection_seconds, evaluation_seconds
        self._clock = clock
        self._longest: Window | None = None
        self._remembered: dict[float, _Remembered] = {}  # by length of the window
        self._coming: asyncio.Task[Assessment | None] | None = None
        self._calibrations = Calibrations()
        self._core = asyncio.Lock()  # evaluations and models run one at a time: each takes a core

    async def run(self) -> None:
        """Watch the server and the files of rules until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.source.run())
            tasks.create_task(self.book.run())

    async def collect(self) -> None:
        """Collect, unless there is a recent collection. A server that is away, or takes too long, is no error."""
        with contextlib.suppress(ServerError, TimeoutError):
            async with asyncio.timeout(self._collection_seconds):
                await self.source.collect(max_age=ADVICE_AGE_SECONDS)

    async def assessment(self, longest: float = LONGEST_WINDOW) -> Assessment | None:
        """Advice on a window of at most ``longest`` seconds; None while nothing can be seen of the server.

        There is one evaluation a snapshot at most, and a core is idle nine tenths of the time. New rules lead to an
        evaluation at once.
        """
        async with self._core:
            seen = self._window(longest)
            if seen is None:
                return None
            before, rule_set = self._last(longest, seen), self.book.rule_set
            if before and before.rule_set is rule_set and (before.snapshot is seen.latest or self._is_idle(longest)):
                return before
            began = self._clock()
            judgement = await asyncio.to_thread(
                self._evaluate,
                rule_set.rules,
                seen,
                suppressions=rule_set.suppressions,
                findings=before.fingerprints if before else frozenset(),
                seconds=self._evaluation_seconds,
                calibrations=self._calibrations,
            )
            now = self._clock()
            # The first run leaves garbage of its own behind; each run leaves a free heap and pages of libraries.
            await asyncio.to_thread(memory.trim if self._remembered else memory.release)
            assessment = Assessment(judgement.advice, judgement.states, seen.latest, rule_set)
            self._remember(longest, _Remembered(assessment, now + _IDLE * (now - began)))
            return assessment

    async def advice(self, longest: float = LONGEST_WINDOW) -> Advice | None:
        """The advice of ``assessment``."""
        found = await self.assessment(longest)
        return None if found is None else found.advice

    async def fresh_advice(self, longest: float) -> Advice:
        """Advice on a window that ends now.

        Raises:
            Unseen: Nothing is known of the server.
        """
        await self.collect()
        advice = await self.advice(longest)
        if advice is None:
            raise self.unseen
        return advice

    async def what_if(self, changes: Mapping[str, SettingValue], longest: float) -> WhatIf:
        """What a change of settings would do. Raises as ``what_if`` and ``fresh_advice`` do."""
        await self.collect()
        async with self._core:
            seen = self._window(longest)
            if seen is None:
                raise self.unseen
            return await asyncio.to_thread(self._model, seen, changes, self._calibrations)

    async def reload(self) -> None:
        """Load the rules again. Raises FileError; then the old ones stay in force."""
        await asyncio.to_thread(self.book.reload)

    @property
    def unseen(self) -> Unseen:
        """Why nothing is known of the server."""
        return Unseen(str(self.source.problem or "nothing has been collected yet"))

    async def glance(self) -> Snapshot | None:
        """A snapshot for a scrape: the last one if a new one takes too long, None while the server is away."""
        try:
            async with asyncio.timeout(self._collection_seconds):
                return await self.source.glance(max_age=SCRAPE_AGE_SECONDS)
        except TimeoutError:
            return self.source.latest
        except ServerError:
            return None

    async def advice_by_now(self) -> Advice | None:
        """The last advice, for a scrape, which neither waits for an evaluation nor fails with it; another one starts.

        Only where the last advice is outdated, by new rules, a restart or a change of settings, the scrape waits a
        little for the next. None while the server is away, or there is no advice yet.
        """
        seen = self._window(LONGEST_WINDOW)
        if seen is None:
            return None
        if self._coming is None or self._coming.done():
            self._coming = asyncio.create_task(self.assessment())
            self._coming.add_done_callback(_log_failure)
        if self._valid(seen) is None:
            await asyncio.wait({self._coming}, timeout=SCRAPE_PATIENCE_SECONDS)
        return self._valid(seen)

    def _valid(self, seen: Window) -> Advice | None:
        """The last advice, unless it is outdated."""
        last = self._last(LONGEST_WINDOW, seen)
        return last.advice if last and last.rule_set is self.book.rule_set else None

    def _last(self, longest: float, seen: Window) -> Assessment | None:
        """The last assessment of a window of this length, unless the server restarted since, or a setting changed."""
        last = self._remembered.get(longest)
        return last.assessment if last and last.assessment.is_within(seen) else None

    def _is_idle(self, longest: float) -> bool:
        return self._clock() < self._remembered[longest].idle_until

    def _window(self, longest: float) -> Window | None:
        """The window up to now. The longest one is kept until the next collection: it takes the whole history."""
        if longest != LONGEST_WINDOW:
            return window(self.source, longest)
        if self._longest is None or self._longest.latest is not self.source.latest:
            self._longest = window(self.source, longest)
        return self._longest

    def _remember(self, longest: float, new: _Remembered) -> None:
        self._remembered.pop(longest, None)
        self._remembered[longest] = new
        while len(self._remembered) > WINDOWS:
            del self._remembered[next(each for each in self._remembered if each != LONGEST_WINDOW)]


def _log_failure(assessment: asyncio.Task[Assessment | None]) -> None:
    if not assessment.cancelled() and assessment.exception() is not None:
        log.error("no advice: %s", assessment.exception())
