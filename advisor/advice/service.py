"""What stands behind the endpoints: the source that is watched, the rules in force, and the advice they gave last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import HTTPException
from prometheus_client.core import Metric

from advisor import footprint
from advisor.advice import evaluation
from advisor.advice import metrics as advice_metrics
from advisor.advice.trace import RuleState
from advisor.contract.recommendation import Advice, Recommendation
from advisor.contract.settings import SettingValue
from advisor.observe.source import SnapshotSource, window
from advisor.observe.window import Window
from advisor.rules.rulebook import InForce, Rulebook
from advisor.whatif.answer import WhatIf, what_if
from exporter.connection.errors import ServerError
from exporter.sampling import metrics
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

FRESH_SECONDS = 1.0
"""Scrapes within this time of each other get the same collection."""
LATELY_SECONDS = 10.0
"""Advice is of a collection as old as this at most: a page that is left open costs the server nothing."""
LONGEST_WINDOW = 3600.0
WINDOWS = 4
"""Of so many, advice is kept: always the one for /metrics, and others for those who look."""
COLLECTION_PATIENCE = 5.0
"""Seconds that a scrape waits for a collection: Prometheus gives up after 10 by default, and a server may hang."""
JUDGEMENT_SECONDS = 10.0
"""Of a core, that advice may take: rules that come after are blind, and say so (seen: 0.3, and 15 for the largest hot
sets)."""
PATIENCE = 1.0
"""Seconds that a scrape waits for new advice."""
_REST = 9.0
"""Times as long as working out advice took, until it is worked out anew."""


@dataclass(frozen=True, slots=True)
class Given:
    """Advice, the state of each rule by its id, their source, and when there may be new (the monotonic clock)."""

    advice: Advice
    states: Mapping[str, RuleState]
    snapshot: Snapshot
    by: InForce
    rested: float

    def within(self, seen: Window) -> bool:
        """Whether it is of a part of what is seen."""
        return seen.snapshots[0].at <= self.snapshot.at <= seen.latest.at

    @property
    def findings(self) -> frozenset[str]:
        """The fingerprints of all that it found, set aside or not."""
        return frozenset(found.fingerprint for found in everything(self.advice))


def everything(advice: Advice) -> Iterator[Recommendation]:
    """The recommendations that are made, and those that are set aside."""
    yield from advice.recommendations
    for aside in (*advice.suppressed, *advice.overruled):
        yield aside.recommendation


class App:
    """The parts behind the endpoints."""

    def __init__(
        self,
        source: SnapshotSource,
        book: Rulebook,
        own: Callable[[], Iterable[Metric]] = tuple,
        exposed: Callable[[Snapshot | None], Iterable[Metric]] = metrics.families,
    ) -> None:
        self.source = source
        self.book = book
        self._own = own
        self._exposed = exposed
        self._seen: Window | None = None
        self._given: dict[float, Given] = {}  # by window
        self._coming: asyncio.Task[Advice | None] | None = None
        self._thinking = asyncio.Lock()  # one model at a time: it takes a core

    def _window(self, longest: float) -> Window | None:
        """What has been seen; that of all scrapes is cut once a collection, for it looks through the whole history."""
        if longest != LONGEST_WINDOW:
            return window(self.source, longest)
        if self._seen is None or self._seen.latest is not self.source.latest:
            self._seen = window(self.source, longest)
        return self._seen

    async def advice(self, longest: float = LONGEST_WINDOW) -> Advice | None:
        """What the rules say; None while there is nothing to look at.

        Worked out once for a snapshot, and no more often than leaves a core idle for nine tenths of the time; anew when
        other rules are in force.
        """
        async with self._thinking:
            seen = self._window(longest)
            if seen is None:
                return None
            last, in_force = self._given.get(longest), self.book.state
            if last and not last.within(seen):
                last = None  # of before a restart or a change of settings
            if last and last.by is in_force and (last.snapshot is seen.latest or time.monotonic() < last.rested):
                return last.advice
            began = time.monotonic()
            judgement = await asyncio.to_thread(
                evaluation.judge,
                in_force.rules,
                seen,
                suppressions=in_force.suppressions,
                findings=last.findings if last else frozenset(),
                seconds=JUDGEMENT_SECONDS,
            )
            now = time.monotonic()
            # What only the first run needed goes for good, what each one needs until the next one.
            await asyncio.to_thread(footprint.trim if self._given else footprint.give_back)
            self._given.pop(longest, None)
            self._given[longest] = Given(
                judgement.advice, judgement.states, seen.latest, in_force, now + _REST * (now - began)
            )
            while len(self._given) > WINDOWS:
                del self._given[next(each for each in self._given if each != LONGEST_WINDOW)]
            return judgement.advice

    async def given(self) -> Given | None:
        """The advice of the longest window, with what it is of; None while there is nothing to look at."""
        return None if await self.advice() is None else self._given.get(LONGEST_WINDOW)

    async def fresh_advice(self, longest: float) -> Advice:
        """What the rules say of a window that ends now.

        Raises:
            HTTPException: 503; nothing can be seen of the server.
        """
        await self.look()
        advice = await self.advice(longest)
        if advice is None:
            raise self.unseen
        return advice

    async def what_if(self, changes: Mapping[str, SettingValue], longest: float) -> WhatIf:
        """What a change of settings would do. Raises as ``what_if`` and ``fresh_advice`` do."""
        await self.look()
        async with self._thinking:
            seen = self._window(longest)
            if seen is None:
                raise self.unseen
            return await asyncio.to_thread(what_if, seen, changes)

    async def reload(self) -> None:
        """Read the rules anew. Raises FileError; then the old ones stay in force."""
        await asyncio.to_thread(self.book.reload)

    async def look(self) -> None:
        """Collect, unless that was done lately or takes its time; a server that is away is ``unseen``."""
        with contextlib.suppress(ServerError, TimeoutError):
            async with asyncio.timeout(COLLECTION_PATIENCE):
                await self.source.collect(max_age=LATELY_SECONDS)

    @property
    def unseen(self) -> HTTPException:
        """503: why nothing is known of the server."""
        problem = self.source.problem
        return HTTPException(
            HTTPStatus.SERVICE_UNAVAILABLE, str(problem) if problem else "nothing has been collected yet"
        )

    async def families(self) -> list[Metric]:
        """Everything for /metrics; with the last snapshot where a new one takes its time."""
        snapshot: Snapshot | None = None
        try:
            async with asyncio.timeout(COLLECTION_PATIENCE):
                snapshot = await self.source.glance(max_age=FRESH_SECONDS)
        except TimeoutError:
            snapshot = self.source.latest
        except ServerError:
            pass  # innodb_up says so
        of_advice = advice_metrics.families(await self._advice_by_now(), self.book)
        return [*self._exposed(snapshot), *of_advice, *self._own()]

    async def _advice_by_now(self) -> Advice | None:
        """The last advice; the next one is worked out meanwhile. No scrape waits for a model, nor fails with it.

        But where the last one is of other rules, or of before a restart or a change of settings, it says nothing
        of now: the next one is waited for, though not for long. None while the server is away.
        """
        seen = self._window(LONGEST_WINDOW)
        if seen is None:
            return None
        if self._coming is None or self._coming.done():
            self._coming = asyncio.create_task(self.advice())
            self._coming.add_done_callback(_log_failure)
        if not self._valid(seen):
            await asyncio.wait({self._coming}, timeout=PATIENCE)
        last = self._given.get(LONGEST_WINDOW)
        return last.advice if last and self._valid(seen) else None

    def _valid(self, seen: Window) -> bool:
        last = self._given.get(LONGEST_WINDOW)
        return last is not None and last.by is self.book.state and last.within(seen)


def _log_failure(advice: asyncio.Task[Advice | None]) -> None:
    if not advice.cancelled() and advice.exception() is not None:
        log.error("no advice: %s", advice.exception())
