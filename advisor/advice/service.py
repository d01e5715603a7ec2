"""The service: it samples a server, judges its windows, and publishes advice, curves and overviews."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from advisor.advice.curves import Curves
from advisor.advice.evaluation_loop import EVALUATION_SECONDS, REST, EvaluationLoop, rest_of
from advisor.advice.interpreter import Remembered
from advisor.advice.judgement import Assessment, assess, judge
from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.model_worker import ModelWorker
from advisor.advice.statements import Statements
from advisor.contract.links import Links
from advisor.ledger.history import History, HistoryFilter, dated, history
from advisor.ledger.ledger import Ledger
from advisor.observe.limits import MAY_READ, RECENT_SECONDS
from advisor.observe.source import Replay, SnapshotSource, window
from advisor.observe.window import Window
from advisor.overview.overview import Overview, overview
from advisor.overview.statements import TableStatements
from advisor.pool.curve import MissCurve
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.hours import StoredHours
from advisor.rules.rulebook import Rulebook
from advisor.timeline.events import Timeline
from exporter.connection.errors import ServerError
from exporter.refreshed import Refreshed
from exporter.snapshot import Snapshot, Table

Answer = TypeVar("Answer")

SCRAPE_AGE_SECONDS = 1.0
"""Scrapes within this time of each other share a collection."""
ADVICE_AGE_SECONDS = 10.0
"""Requested advice may be of a collection as old as this: a page left open costs the server nothing."""
LONGEST_WINDOW = 3600.0
"""Seconds that advice looks back at most, and by default."""
LENGTHS = 3
"""Windows of other lengths, and overviews, whose last answer stays."""
COLLECTION_SECONDS = 5.0
"""How long a request waits for a collection. The server may hang, and Prometheus gives up after 10 s by default."""
FIRST_SECONDS = 8.0
"""How long a request waits for the first advice, or the first after a restart, a change of settings, or new rules."""
ANSWER_SECONDS = 0.5
"""How long a request waits for a newer verdict of the rules without a model. Then the last advice is the answer."""
SCRAPE_PATIENCE_SECONDS = 1.0
"""How long a scrape waits for the first advice."""
OVERVIEW_SHARE, OVERVIEW_FREE_SECONDS = 0.005, 1.0
"""Part of a core that the overviews of one length take at most while somebody looks. Shorter rests are left out: with a
hundred tables an overview takes some milliseconds."""
_LOOK_SECONDS = 1.0
"""Time between two looks for a new snapshot."""


class Unseen(Exception):
    """The server cannot be seen; the text says why."""


class Service:
    """The advice on one server. HTTP, metrics and Alertmanager share it.

    Attributes:
        source: The server, or a recording.
        rules: The rules.
        target: The server's address, for people; None for a recording.
        links: Where people find the page, and what it links to; None without a page.
        timeline: What happened in the last hour.
        now: Unix seconds.
    """

    def __init__(
        self,
        source: SnapshotSource,
        rules: Rulebook,
        *,
        recorder: LedgerRecorder | None = None,
        worker: ModelWorker | None = None,
        hours: StoredHours | None = None,
        may_read: float = MAY_READ,
        longest: float = LONGEST_WINDOW,
        target: str | None = None,
        links: Links | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin without a snapshot.

        Args:
            source: The server, or a recording.
            rules: The rules.
            recorder: Writes the ledger; by default it is empty, and in memory.
            worker: Asks the models.
            hours: The memory of days; None without --state-dir.
            may_read: As in ``Remembered``.
            longest: Seconds that advice looks back at most.
            target: The server's address, for people; None for a recording.
            links: Where people find the page, and what it links to; None without a page.
            clock: Seconds, monotonic.
            now: Unix seconds.
        """
        self.source, self.rules, self.target, self.links, self.now = source, rules, target, links, now
        self.timeline = Timeline()
        self._recorder = recorder or LedgerRecorder()
        self._worker = worker or ModelWorker()
        self._hours, self._may_read, self._longest, self._clock = hours, may_read, longest, clock
        self._loop = EvaluationLoop(self._worker, clock=clock, now=now)
        self._curves = Curves(source, self._worker, longest, hours, clock=clock)
        self._statements = Statements(source, clock)
        self._overviews = functools.lru_cache(LENGTHS)(self._overview_over)
        self._assessments = functools.lru_cache(LENGTHS)(self._assessment_over)
        self._whole: Window | None = None
        self._last: Assessment | None = None

    async def run(self) -> None:
        """Sample the server, judge its window and record outcomes, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.source.run())
                tasks.create_task(self.rules.run())
                tasks.create_task(self._judge())
                tasks.create_task(self._record())
        finally:
            self._loop.forget()
            self._curves.whole.cancel()

    async def _judge(self) -> None:
        while True:
            self.look()
            self._begin()
            if (seen := self.seen) is not None:
                self._curves.begin(seen)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _record(self) -> None:
        while True:
            if (seen := self.seen) is not None:
                assessment = self._loop.assessment(self.rules.rule_set, seen)
                await self._recorder.observe(self.source.history, assessment)
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Take new events into the timeline, and remember the last assessment."""
        problem, refused = self.source.problem, self.rules.problem
        rule_set = self.rules.rule_set
        self.timeline.look(
            self.source.history,
            self.now(),
            problem=None if problem is None else str(problem),
            rules=len(rule_set.rules),
            loaded_at=rule_set.loaded_at,
            rules_problem=None if refused is None else str(refused),
        )
        self._last = self.last_verdict

    @property
    def ledger(self) -> Ledger:
        """The ledger, as far as it is stored."""
        return self._recorder.ledger

    @property
    def seen(self) -> Window | None:
        """The whole window up to now; None while the server cannot be seen."""
        if self._whole is None or self._whole.latest is not self.source.latest:  # it takes the whole history
            self._whole = window(self.source, self._longest)
        return self._whole

    @property
    def unseen(self) -> Unseen:
        """Why the server cannot be seen."""
        if self.source.latest is not None:
            return Unseen("the rules are being evaluated for the first time: ask again in some seconds")
        return Unseen(str(self.source.problem or "nothing has been collected yet"))

    @property
    def verdict(self) -> Assessment | None:
        """The last assessment, dated, if it holds for the server, its settings and the rules as they are now."""
        seen = self.seen
        assessment = None if seen is None else self._loop.assessment(self.rules.rule_set, seen)
        return None if assessment is None else self._dated(assessment, self._loop.next_at)

    @property
    def last_verdict(self) -> Assessment | None:
        """The same, or the last one before the server went away."""
        return self.verdict or self._last

    async def first_verdict(self) -> Assessment | None:
        """``verdict`` for a scrape, which waits a little for the first one, and never fails with it."""
        self._begin()
        verdict = self.verdict
        if verdict is None:
            await self._loop.join(SCRAPE_PATIENCE_SECONDS, models=True)
            verdict = self.verdict
        return verdict

    async def assessment(self, longest: float | None = None) -> Assessment:
        """The assessment of a window that ends now.

        That of the whole window is the last one, at once, but for the first of the server with its settings and rules.
        A window of another length is judged anew where that is due.

        Args:
            longest: Seconds to look back at most; the whole window by default.

        Raises:
            Unseen: The server cannot be seen.
            Exception: The first evaluation failed.
        """
        await self._collect()
        if longest is not None:
            return await self._judged_over(longest)
        self._begin()
        last = self.verdict
        if last is None or not self._loop.complete or (last.advice.age_seconds or 0.0) > REST.longest:
            await self._loop.join(FIRST_SECONDS, models=True)
        else:
            await self._loop.join(ANSWER_SECONDS, models=False)
        verdict = self.verdict
        if verdict is None:
            raise self._loop.failure or self.unseen
        return verdict

    async def ask(self, question: Callable[[Window, Loads], Answer], longest: float | None = None) -> Answer:
        """The models' answer to a question about a window that ends now. Questions are answered one at a time.

        Args:
            question: Of a window, and the loads that explained earlier ones.
            longest: Seconds to look back at most.

        Raises:
            Unseen: The server cannot be seen.
            Exception: What the question raises.
        """
        seen = await self.window(longest)
        return await self._worker.ask(lambda loads: question(seen, loads))

    async def window(self, longest: float | None = None) -> Window:
        """The window of this length that ends now. Raises Unseen."""
        await self._collect()
        return self._window(longest)

    async def curve(self, longest: float | None = None) -> MissCurve:
        """The miss curve: a new one, or the last one while it is fresh.

        Args:
            longest: Seconds to look back at most.

        Raises:
            Unanswerable: The model has no answer.
            Unseen: The server cannot be seen.
        """
        seen = await self.window(longest)
        curve = await self._curves.asked(seen, self._longest if longest is None else longest)
        return curve.tidied()

    @property
    def last_curve(self) -> MissCurve | None:
        """The last miss curve of the whole window; None while the server is away."""
        seen = self.seen
        return None if seen is None else self._curves.last(seen)

    async def overview(self, longest: float = RECENT_SECONDS) -> Overview:
        """The overview of the newest snapshot, or of one some seconds older where an overview takes long.

        It comes from memory; while the server is away, it is of the last snapshot.

        Args:
            longest: Seconds that rates look back at most.

        Raises:
            Unseen: There is no snapshot.
        """
        if not self.source.history:
            raise self.unseen
        refreshed = self._overviews(longest)
        last = refreshed.value
        if last is None or (last.at != self.source.history[-1].at and refreshed.rested):
            return await refreshed.get()
        return last

    async def statements(self, table: Table) -> TableStatements:
        """The statements behind a table: the only answer that queries the server beside collections."""
        return await self._statements.behind(table)

    def history(self, wanted: HistoryFilter) -> History:
        """The outcomes of changes, and the findings that stood."""
        return history(self.ledger, wanted, kept=self._recorder.is_stored, problem=self._recorder.problem)

    async def snapshot(self) -> Snapshot | None:
        """A snapshot for a scrape: the last one if a new one takes too long, None while the server is away."""
        try:
            async with asyncio.timeout(COLLECTION_SECONDS):
                return await self.source.glance(max_age=SCRAPE_AGE_SECONDS)
        except TimeoutError:
            return self.source.latest
        except ServerError:
            return None

    async def _collect(self) -> None:
        """Collect, unless there is a recent collection. A server that is away, or takes too long, is no error."""
        with contextlib.suppress(ServerError, TimeoutError):
            async with asyncio.timeout(COLLECTION_SECONDS):
                await self.source.collect(max_age=ADVICE_AGE_SECONDS)

    def _begin(self) -> None:
        """Begin the evaluations that are due."""
        if (seen := self.seen) is not None:
            self._loop.begin(seen, self.rules.rule_set, self._remembered())

    def _remembered(self) -> Remembered:
        outcomes = tuple(self.ledger.outcomes.values())
        return Remembered(None if self._hours is None else self._hours.hours, self._may_read, outcomes)

    def _window(self, longest: float | None) -> Window:
        """The window up to now. Raises Unseen."""
        seen = self.seen if longest is None else window(self.source, longest)
        if seen is None:
            raise self.unseen
        return seen

    async def _judged_over(self, longest: float) -> Assessment:
        refreshed, seen = self._assessments(longest), self._window(longest)
        last = refreshed.value
        outdated = last is None or last.rule_set is not self.rules.rule_set or not last.is_within(seen)
        if outdated or (refreshed.rested and last is not None and last.snapshot is not seen.latest):
            last = await refreshed.get()
        assert last is not None  # noqa: S101 - else it was outdated
        return self._dated(last, self.now() + max(0.0, refreshed.rests_until - self._clock()))

    def _assessment_over(self, longest: float) -> Refreshed[Assessment]:
        """The assessment of a window of another length."""

        async def compute() -> Assessment:
            seen, rule_set = self._window(longest), self.rules.rule_set
            judging = functools.partial(
                judge, rule_set.rules, seen, recent=False, seconds=EVALUATION_SECONDS, remembered=self._remembered()
            )
            try:
                judgements = await self._worker.ask(lambda loads: (*judging(loads=loads),))
            except Unanswerable as error:
                raise Unseen(f"the rules were not judged: {error}") from error
            by_rule = {judgement.rule: judgement for judgement in judgements}
            return assess(by_rule, seen, rule_set, computed_at=self.now())

        return Refreshed(compute, rest=rest_of(longest).after, clock=self._clock)

    def _overview_over(self, longest: float) -> Refreshed[Overview]:
        return Refreshed(
            lambda: asyncio.to_thread(overview, Window.of(self.source.history, longest)),
            rest=lambda seconds: seconds / OVERVIEW_SHARE - OVERVIEW_FREE_SECONDS,
            clock=self._clock,
        )

    def _dated(self, assessment: Assessment, next_at: float) -> Assessment:
        """With the dates of its findings, its age, and the time of the next one; a recording has no next one."""
        age = self.now() - (assessment.advice.computed_at or self.now())
        dates = {
            "age_seconds": round(max(0.0, age), 3),
            "next_at": None if isinstance(self.source, Replay) else next_at,
        }
        return replace(assessment, advice=dated(assessment.advice, self.ledger).model_copy(update=dates))
