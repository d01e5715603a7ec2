"""The service: it watches a server, gives advice, remembers it, and answers questions about other settings."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from advisor.advice.apart import Apart, in_thread
from advisor.advice.assessment import Assessment
from advisor.advice.curves import Curves, Estimate
from advisor.advice.fits import Fits, Kept
from advisor.advice.judgement import judge
from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.overviews import Overviews
from advisor.advice.remembered import Remembered
from advisor.advice.rounds import EVALUATION_SECONDS, LONGEST_REST, Judge, Rounds
from advisor.advice.statements import Statements
from advisor.advice.turns import Turns
from advisor.contract.links import Links
from advisor.contract.recommendation import Advice
from advisor.contract.settings import SettingValue
from advisor.ledger.history import History, HistoryFilter, dated, history
from advisor.observe.limits import RECENT_SECONDS
from advisor.observe.source import Replay, SnapshotSource, window
from advisor.observe.window import Window
from advisor.overview.overview import Overview
from advisor.overview.statements import TableStatements
from advisor.pool import estimate
from advisor.pool.answer import MissCurve, answer
from advisor.pool.curve import Curve
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.what_if import WhatIf, what_if
from advisor.rules.rulebook import Rulebook
from advisor.timeline.events import Seen, Timeline
from exporter.connection.errors import ServerError
from exporter.snapshot import Snapshot, Table

Answer = TypeVar("Answer")

SCRAPE_AGE_SECONDS = 1.0
"""Scrapes within this time of each other share a collection."""
ADVICE_AGE_SECONDS = 10.0
"""Advice that is asked for may be of a collection as old as this: a page left open costs the server nothing."""
LONGEST_WINDOW = 3600.0
"""Seconds that advice looks back at most, and by default."""
WINDOWS = 3
"""Windows of other lengths for which advice is remembered."""
COLLECTION_SECONDS = 5.0
"""How long a request waits for a collection. The server may hang, and Prometheus gives up after 10 s by default."""
FIRST_SECONDS = 8.0
"""How long a request waits for the first advice, or the first after a restart, a change of settings, or new rules."""
ANSWER_SECONDS = 0.5
"""How long a request waits for a newer verdict of the rules without a model. Then the last advice is the answer."""
SCRAPE_PATIENCE_SECONDS = 1.0
"""How long a scrape waits for the first advice."""
_LOOK_SECONDS = 1.0
"""Time between two looks for a new snapshot."""


class Unseen(Exception):
    """Nothing is known of the server; the text says why."""


class Service:
    """The advice on one server. The command line, HTTP, metrics and Alertmanager share it.

    Attributes:
        source: The server, or a recording.
        book: The rules.
        books: What became of advice.
        target: The server's address, for people; None for a recording.
        links: Where people find the page, and what it links to; None where none is served.
        timeline: What happened in the last hour.
        now: Unix seconds.
    """

    def __init__(
        self,
        source: SnapshotSource,
        book: Rulebook,
        *,
        longest: float = LONGEST_WINDOW,
        judge: Judge = judge,
        model: Callable[[Window, Mapping[str, SettingValue], Loads], WhatIf] = what_if,
        curve: Estimate = estimate.curve,
        apart: Apart = in_thread,
        collection_seconds: float = COLLECTION_SECONDS,
        evaluation_seconds: float = EVALUATION_SECONDS,
        remembered: Callable[[], Remembered] = Remembered,
        remember: Callable[[Window, Curve | None], None] | None = None,
        books: LedgerRecorder | None = None,
        target: str | None = None,
        links: Links | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is collected yet.

        Args:
            source: The server, or a recording.
            book: The rules.
            longest: Seconds that advice looks back at most.
            judge: Judges a window by rules.
            model: Answers what-if questions.
            curve: Works miss curves out.
            apart: Where questions to the model and miss curves are worked out.
            collection_seconds: How long a request waits for a collection.
            evaluation_seconds: Limit for an evaluation, in seconds of a core.
            remembered: The memory of days as it is now. The outcomes come from ``books``.
            remember: Takes the window of each hour, and its miss curve where there is one.
            books: What became of earlier advice, and where it is kept; by default nothing, and in memory.
            target: The server's address, for people; None for a recording.
            links: Where people find the page, and what it links to; None where none is served.
            clock: Seconds, monotonic.
            now: Unix seconds.
        """
        self.source, self.book, self.target, self.links = source, book, target, links
        self.books = books or LedgerRecorder()
        self.timeline = Timeline()
        self._longest, self._model, self._collection_seconds = longest, model, collection_seconds
        self.now = now
        self._known: Assessment | None = None
        self._turns, self._kept = Turns(yields=apart is in_thread), Kept()
        self._questions = asyncio.Lock()  # each takes a core
        self._apart = apart
        self._curves = Curves(
            longest, self._turns, self._questions, estimate=curve, apart=apart, remember=remember, clock=clock
        )
        self._overviews = Overviews(source, clock=clock)
        self._statements = Statements(source, clock)
        self._seen: Window | None = None
        self._rounds_of = functools.partial(
            Rounds,
            judge=judge,
            apart=apart,
            seconds=evaluation_seconds,
            turns=self._turns,
            kept=self._kept,
            remembered=lambda: replace(remembered(), outcomes=tuple(self.books.ledger.outcomes.values())),
            clock=clock,
            now=now,
        )
        self._whole = self._rounds_of(recent=True)
        self._urgent = asyncio.Lock()
        self._others: dict[float, Rounds] = {}  # by length of the window

    async def run(self) -> None:
        """Watch the server and the files of rules, and judge what is seen, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.source.run())
                tasks.create_task(self.book.run())
                tasks.create_task(self._keep_judging())
                tasks.create_task(self._keep_books())
        finally:
            for each in (self._whole, *self._others.values()):
                each.call_off()
            self._curves.call_off()

    async def _keep_judging(self) -> None:
        while True:
            self.look()
            self._begin(None)
            seen = self._window(None)
            if seen is not None:
                self._curves.keep(seen, self.source.history)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _keep_books(self) -> None:
        while True:
            seen, rule_set = self._window(None), self.book.rule_set
            if seen is not None:
                found = self._whole.assessment(rule_set, seen)
                await self.books.observe(self.source.history, found, rule_set)
            await asyncio.sleep(_LOOK_SECONDS)

    async def collect(self) -> None:
        """Collect, unless there is a recent collection. A server that is away, or takes too long, is no error."""
        with contextlib.suppress(ServerError, TimeoutError):
            async with asyncio.timeout(self._collection_seconds):
                await self.source.collect(max_age=ADVICE_AGE_SECONDS)

    async def assessment(self, longest: float | None = None, patience: float | None = None) -> Assessment | None:
        """The last assessment; None while nothing can be seen of the server, or within ``patience``.

        It is there at once, but for the first one of the server, its settings and the rules, and for one that nobody
        asked for in a while. An evaluation that is due begins, and what it says is in the next answer.

        Args:
            longest: Seconds to look back at most. By default the longest time, and its newest minutes beside it.
            patience: Seconds to wait for the first one; None for as long as it takes.

        Raises:
            Exception: The first evaluation failed.
        """
        rounds = self._begin(longest)
        if rounds is None:
            return None
        last = self._last(longest)
        if last is None or not rounds.complete or (last.advice.age_seconds or 0.0) > LONGEST_REST:
            await rounds.wait(patience, models=True)
        else:
            await rounds.wait(ANSWER_SECONDS, models=False)
        found = self._last(longest)
        if found is None and rounds.failure is not None:
            raise rounds.failure
        return found

    def _begin(self, longest: float | None) -> Rounds | None:
        """Begin the evaluations that are due; None while nothing can be seen of the server."""
        seen = self._window(longest)
        if seen is None:
            return None
        rounds = self._rounds(longest)
        rounds.begin(seen, self.book.rule_set)
        return rounds

    def _last(self, longest: float | None) -> Assessment | None:
        """The last assessment, dated, unless it is outdated."""
        rounds, seen = self._rounds(longest), self._window(longest)
        found = None if seen is None else rounds.assessment(self.book.rule_set, seen)
        if found is None:
            return None
        now, computed_at = self.now(), rounds.computed_at
        dates = {
            "computed_at": computed_at,
            "age_seconds": None if computed_at is None else round(max(0.0, now - computed_at), 3),
            "next_at": None if isinstance(self.source, Replay) else rounds.next_at,
        }
        return replace(found, advice=dated(found.advice, self.books.ledger).model_copy(update=dates))

    async def advice(self, longest: float | None = None) -> Advice | None:
        """The advice of ``assessment``."""
        found = await self.assessment(longest)
        return None if found is None else found.advice

    async def fresh_assessment(self, longest: float | None = None) -> Assessment:
        """The last assessment of a window that ends now.

        Raises:
            Unseen: Nothing is known of the server.
        """
        await self.collect()
        found = await self.assessment(longest, FIRST_SECONDS)
        if found is None:
            raise self.unseen
        return found

    async def fresh_advice(self, longest: float | None = None) -> Advice:
        """The advice of ``fresh_assessment``."""
        return (await self.fresh_assessment(longest)).advice

    def last_advice(self) -> Advice:
        """The last advice, also while the server is away: nothing is collected or judged for it.

        It has no ``age_seconds`` and ``next_at``, and so stays the same until it says something new.

        Raises:
            Unseen: There is none yet.
        """
        found = self.last_verdict
        if found is None:
            raise self.unseen
        return found.advice.model_copy(update={"age_seconds": None, "next_at": None})

    async def what_if(self, changes: Mapping[str, SettingValue], longest: float | None = None) -> WhatIf:
        """What a change of settings would do. Raises as ``what_if`` and ``fresh_advice`` do."""
        return await self.ask(lambda seen, kept: self._model(seen, changes, kept), longest)

    async def ask(self, question: Callable[[Window, Loads], Answer], longest: float | None = None) -> Answer:
        """The model's answer to a question about a window that ends now. Questions are answered one at a time.

        Args:
            question: Of a window, and the loads that are kept.
            longest: Seconds to look back at most.

        Raises:
            Unseen: Nothing is known of the server.
        """
        await self.collect()
        async with self._questions:
            seen = self._window(longest)
            if seen is None:
                raise self.unseen
            fits = Fits(self._kept)

            def work() -> tuple[Answer | Refused | Unanswerable, bytes | None]:
                try:
                    return question(seen, fits.loads), fits.kept()
                except (Refused, Unanswerable) as error:
                    return error, fits.kept()  # the next question need not fit the model again

            with self._turns.first():
                answer, fitted = await self._apart(work)
            self._kept.keep(fitted)
            if isinstance(answer, Refused | Unanswerable):
                raise answer
            return answer

    async def look_at(self, question: Callable[[Window], Answer], longest: float | None = None) -> Answer:
        """The answer to a question about a window that ends now, which takes no fit. Raises Unseen as ``ask``."""
        await self.collect()
        seen = self._window(longest)
        if seen is None:
            raise self.unseen
        return await self._apart(lambda: question(seen))

    async def curve(self, longest: float | None = None) -> MissCurve:
        """The miss curve: a new one, or the last one while it is fresh.

        Args:
            longest: Seconds to look back at most.

        Raises:
            Unanswerable: There is none.
            Unseen: Nothing is known of the server.
        """
        await self.collect()
        whole, seen = self._window(None), self._window(longest)
        if whole is None or seen is None:
            raise self.unseen
        self._curves.look(whole)
        found = await self._curves.asked(seen, self.source.history, self._longest if longest is None else longest)
        return answer(found, str(seen.latest.server))

    def curve_by_now(self) -> Curve | None:
        """The last miss curve, for a scrape, which works none out; None while the server is away."""
        seen = self._window(None)
        return None if seen is None else self._curves.kept(seen)

    async def overview(self, longest: float = RECENT_SECONDS) -> Overview:
        """The overview of the newest snapshot, from memory; while the server is away, of the last one.

        Args:
            longest: Seconds that rates look back at most.

        Raises:
            Unseen: Nothing has been collected yet.
        """
        found = await self._overviews.newest(longest)
        if found is None:
            raise self.unseen
        return found

    def look(self) -> None:
        """Take what is new into the timeline, and remember the verdict."""
        problem, refused = self.source.problem, self.book.problem
        rule_set = self.book.rule_set
        seen = Seen(
            problem=None if problem is None else str(problem),
            rules=len(rule_set.rules),
            loaded_at=rule_set.loaded_at,
            rules_problem=None if refused is None else str(refused),
        )
        self.timeline.look(self.source.history, seen, self.now())
        self._known = self.last_verdict

    @property
    def verdict(self) -> Assessment | None:
        """The last assessment, dated, if it holds for the server, its settings and the rules as they are now."""
        return self._last(None)

    @property
    def last_verdict(self) -> Assessment | None:
        """The same, or else the last one that a look saw: while the server is away, what was said before."""
        return self.verdict or self._known

    @property
    def seen(self) -> Window | None:
        """The window up to now; None while nothing can be seen of the server."""
        return self._window(None)

    async def statements(self, table: Table) -> TableStatements:
        """The statements behind a table: the only answer for which the server is asked beside the collections."""
        return await self._statements.behind(table)

    def history(self, wanted: HistoryFilter) -> History:
        """What became of changes, and the findings that stood."""
        return history(self.books.ledger, wanted, kept=self.books.is_stored, problem=self.books.problem)

    async def reload(self) -> None:
        """Load the rules again. Raises FileError; then the old ones stay in force."""
        await asyncio.to_thread(self.book.reload)

    @property
    def unseen(self) -> Unseen:
        """Why nothing is known of the server."""
        if self.source.latest is not None:
            return Unseen("the rules are being evaluated for the first time: ask again in some seconds")
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
        """The last advice, for a scrape, which neither waits for an evaluation nor fails with it.

        Only for the first advice of the server, its settings and the rules the scrape waits a little. None while the
        server is away, or there is no advice yet.
        """
        rounds = self._begin(None)
        if rounds is not None and self._last(None) is None:
            await rounds.wait(SCRAPE_PATIENCE_SECONDS, models=True)
        found = self._last(None)
        return None if found is None else found.advice

    def _rounds(self, longest: float | None) -> Rounds:
        """The evaluations over windows of this length."""
        if longest is None:
            return self._whole
        found = self._others.pop(longest, None) or self._rounds_of(recent=False, urgent=self._urgent)
        self._others[longest] = found
        while len(self._others) > WINDOWS:
            self._others.pop(next(iter(self._others))).call_off()
        return found

    def _window(self, longest: float | None) -> Window | None:
        """The window up to now. The longest one is kept until the next collection: it takes the whole history."""
        if longest is not None:
            return window(self.source, longest)
        if self._seen is None or self._seen.latest is not self.source.latest:
            self._seen = window(self.source, self._longest)
        return self._seen
