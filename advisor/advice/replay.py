"""The replay of snapshots: the advice and the ledger that a sidecar would have had, without a server. Pure.

Snapshot by snapshot goes through the same ``Ledger.observe`` as in production. The rules judge where it can matter: at
the last snapshot before a change or a restart, at the end, and every few minutes in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from advisor.advice.interpreter import Remembered
from advisor.advice.judgement import CLEAR_SECONDS, Assessment, Judgement, assess, judge
from advisor.ledger.grades import GradedStretch
from advisor.ledger.ledger import Ledger
from advisor.observe.limits import LONGEST_GAP, MAY_READ
from advisor.observe.window import Window
from advisor.pool.fitting import Loads
from advisor.rules.rulebook import RuleSet
from exporter.snapshot import Snapshot

LONGEST_WINDOW = 3600.0
"""Seconds of history that advice and ledger look back at, as in production."""
MOST_JUDGEMENTS = 500
"""Regular judgements of one replay: a longer one is judged less often, so that its cost is bounded."""
MOST_BREAKS = 500
"""Changes, restarts and gaps of one replay before which the rules judge; later ones wait for a regular judgement."""
MOST_SNAPSHOTS = 7_200
"""Snapshots that advice and ledger look back at: LONGEST_WINDOW at two a second."""


class Replaying:
    """The advice and the ledger as they go on with each snapshot.

    Attributes:
        ledger: After the newest snapshot.
    """

    def __init__(self, rule_set: RuleSet, ledger: Ledger | None = None, may_read: float = MAY_READ) -> None:
        """Begin without a snapshot.

        Args:
            rule_set: The rules.
            ledger: That of earlier recordings; by default an empty one.
            may_read: As in ``Remembered``.
        """
        self.ledger = ledger or Ledger()
        self._rules, self._may_read = rule_set, may_read
        self._loads = Loads()
        self._history: deque[Snapshot] = deque(maxlen=MOST_SNAPSHOTS)
        self._breaks = 0
        self._began, self._collections = float("inf"), 0
        self._judgements: dict[str, Judgement] = {}
        self._judged_at = float("-inf")
        self._assessment: Assessment | None = None

    def replay(self, snapshots: Sequence[Snapshot]) -> Iterator[float]:
        """Take snapshots, and yield the time of each once it is done, Unix seconds.

        Args:
            snapshots: Oldest first; not empty. They go on where the last ones ended.
        """
        apart = max(CLEAR_SECONDS, (snapshots[-1].at - snapshots[0].at) / MOST_JUDGEMENTS)
        for number, snapshot in enumerate(snapshots):
            self._take(snapshot)
            last = len(Window.of(snapshots[number : number + 2], LONGEST_WINDOW).snapshots) < 2
            history = tuple(self._history)
            self._breaks += last
            if (last and self._breaks <= MOST_BREAKS) or snapshot.at - self._judged_at >= apart:
                judged = self._assessed()
                self.ledger, _ = self.ledger.observe(history, judged.advice, self._rules.rules, judged.is_gone)
            else:
                self.ledger, _ = self.ledger.observe(history, None)
            yield snapshot.at

    def continues(self, snapshot: Snapshot) -> bool:
        """Whether it is of the same session, without a gap before it."""
        if not self._history:
            return True
        last = self._history[-1]
        same = (last.server, last.account) == (snapshot.server, snapshot.account)
        return same and 0 < snapshot.at - last.at <= LONGEST_GAP

    def stretch(self, recordings: Sequence[str]) -> GradedStretch:
        """The findings and outcomes so far, after at least one snapshot.

        Args:
            recordings: Names of the recordings that the snapshots are from.
        """
        return GradedStretch(
            recordings=tuple(recordings),
            server=str(self._history[-1].server),
            began=self._began,
            ended=self._history[-1].at,
            collections=self._collections,
            findings=tuple(self.ledger.findings.values()),
            outcomes=tuple(self.ledger.outcomes.values()),
        )

    def _take(self, snapshot: Snapshot) -> None:
        self._began, self._collections = min(self._began, snapshot.at), self._collections + 1
        self._history.append(snapshot)
        while snapshot.at - self._history[0].at > LONGEST_WINDOW:
            self._history.popleft()

    def _assessed(self) -> Assessment:
        """The assessment of the newest window, with the findings that stood before."""
        window = Window.of(self._history, LONGEST_WINDOW)
        if self._judged_at < window.snapshots[0].at:  # a restart, or a change of settings
            self._judgements.clear()
            self._assessment = None
        remembered = Remembered(None, self._may_read, tuple(self.ledger.outcomes.values()))
        judgements = judge(
            self._rules.rules, window, before=dict(self._judgements), loads=self._loads, remembered=remembered
        )
        for judgement in judgements:
            self._judgements[judgement.rule] = judgement
        self._judged_at = window.latest.at
        self._assessment = assess(self._judgements, window, self._rules, self._assessment)
        return self._assessment
