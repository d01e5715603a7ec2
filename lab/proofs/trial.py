"""A rule on a real server: it fires, its statements are executed, it falls silent, and they are rolled back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from advisor.advice.interpreter import Remembered
from advisor.casetest.alterations import Alteration
from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness import watch
from lab.harness.follow import Following
from lab.harness.measure import PAGES, Counters, Figures, Work, in_turn, measure, pool_statistic, repeat
from lab.harness.records import NotShown, Say
from lab.proofs.record import MeasuredEffect, PromisedLimit
from lab.servers import PrivateServer
from lab.servers.sql import execute


class RuleTrial:
    """A rule on a real server, and what the lab knows of it. Its methods raise `NotShown`.

    Attributes:
        server: The running server, with the proof's options.
        say: Takes a progress message.
        remembered: The memory of days that the rule gets; None for none.
        following: The rule's advice, executed.
        folklore: Folklore's statements or option lines that were followed.
        was_silent: Whether the rule was silent since the last statements.
        before: The lab's figures before advice, and whatever else the texts of its proof name.
        after: The figures after the advice, or folklore, was followed.
        evidence: The numbers of the first finding's evidence, and as ``now`` the current value of its effect.
        findings: The recommendation of each `fires`.
        effects: The predictions with their measurements.
        promises: What may become worse.
    """

    def __init__(self, server: PrivateServer, rule: str, say: Say, altered: Alteration | None = None) -> None:
        self.server = server
        self.say = say
        self.remembered: Remembered | None = None
        self.following = Following(server)
        self.folklore: list[str] = []
        self.was_silent = False
        self.before: dict[str, Any] = {}
        self.after: Figures = {}
        self.evidence: Figures = {}
        self.findings: list[Recommendation] = []
        self.effects: list[MeasuredEffect] = []
        self.promises: list[PromisedLimit] = []
        self._rule, self._altered = watch.the_rule(rule), altered

    @property
    def finding(self) -> Recommendation:
        """The recommendation of the last `fires`."""
        return self.findings[-1]

    def recommendations(self, seen: Sequence[Snapshot]) -> tuple[Recommendation, ...]:
        """The rule's recommendations for a window of these snapshots; it must be able to judge."""
        advice = self._advice(seen)
        if advice.failed or self._is_blind(advice):
            raise NotShown(f"{self._rule.id} can't judge: {advice.failed or advice.blind}")
        return tuple(advice.recommendations)

    def blind(self, seen: Sequence[Snapshot]) -> None:
        """Check that the rule is blind."""
        if not self._is_blind(self._advice(seen)):
            raise NotShown(f"{self._rule.id} is not blind")

    def fires(self, seen: Sequence[Snapshot], **subject: str) -> Recommendation:
        """The rule's only recommendation, for this subject or, without one, for any."""
        self.say("the rule is evaluated")
        recommendations = self.recommendations(seen)
        findings = [finding for finding in recommendations if not subject or dict(finding.subject) == subject]
        if len(findings) != 1:
            times = f"{self._rule.id} fires {len(findings)} times, not once, for {subject or 'this server'}"
            raise NotShown(f"{times}: {watch.reasons(self._rule, self._window(seen))}")
        [finding] = findings
        self.findings.append(finding)
        if not self.evidence:
            numbers = (item for item in finding.evidence if not isinstance(item.value, str))
            self.evidence = {item.name: float(item.value) for item in numbers}
            if finding.effect is not None and finding.effect.now is not None:
                self.evidence["now"] = finding.effect.now
        return finding

    def silent(self, seen: Sequence[Snapshot]) -> None:
        """Check that the rule is silent."""
        for finding in self.recommendations(seen):
            raise NotShown(f"{self._rule.id} is not silent: {finding.summary}")
        self.was_silent = True

    def follow(self, **by_hand: str) -> None:
        """Execute the last finding's statements unchanged, as `Following.follow` does."""
        self.say("its statements are executed")
        self.following.follow(self.finding.changes, self.finding.actions, **by_hand)
        self.was_silent = False

    def take_back(self) -> None:
        """Execute the rollbacks, and check that the settings have their old values."""
        self.say("they are rolled back")
        self.following.take_back()

    def follow_and_take_back(self, work: Work, times: int, settle: Work, *, pause: float = 0.0) -> None:
        """Follow the last finding, watch the work while the rule is silent, and take the change back.

        Args:
            work: The measured work.
            times: Its runs.
            settle: Brings the pool into its state under the changed setting; it is done twice.
            pause: Seconds after each run.
        """
        self.follow()
        repeat(settle, 2, pause)
        self.silent(self.watch(work, times, pause=pause))
        self.take_back()

    def follow_folklore(self, *statements: str) -> None:
        """Execute folklore's statements."""
        self.say("folklore is followed")
        execute(self.server, *statements)
        self.folklore += statements

    def restart_with_folklore(self, options: Mapping[str, str]) -> None:
        """Restart the server with folklore's options."""
        self.say("folklore is followed")
        self.server.restart(options)
        self.folklore += [f"{name.replace('-', '_')} = {value}" for name, value in options.items()]

    def measure(
        self, work: Work, times: int = 1, *, pause: float = 0.0, counters: Counters = PAGES, pieces: float = 1.0
    ) -> Figures:
        """Measure work; the figures are those before, or after once advice or folklore was followed."""
        return self.record(measure(self.server, work, times, counters=counters, pause=pause, pieces=pieces))

    def watch(
        self, work: Work, times: int, *, pause: float = 0.0, counters: Counters = PAGES, pieces: float = 1.0
    ) -> tuple[Snapshot, ...]:
        """The same while the sidecar watches; its snapshots."""
        seen, figures = watch.watch(self.server, work, times, counters=counters, pause=pause, pieces=pieces)
        self.record(figures)
        return seen

    def in_turn(self, rounds: int, before: Callable[[], Figures], after: Callable[[], Figures]) -> None:
        """Measure both sides in turn: the figures are medians of the rounds, and the least."""
        for figures, side in zip((self.before, self.after), in_turn(rounds, before, after), strict=True):
            figures.update(side)

    def record(self, figures: Figures) -> Figures:
        """Add to the figures before, or after advice or folklore was followed."""
        (self.after if self.following.applied or self.folklore else self.before).update(figures)
        return figures

    def predicts(
        self,
        before: float,
        after: float,
        *,
        quantity: str = "",
        unit: str = "",
        now: float | None = None,
        rate: float = 1.0,
        finding: int = 0,
    ) -> None:
        """Add the prediction of a finding with its measurement to the effects.

        Args:
            before: Measured before the rule's statements.
            after: Measured afterwards.
            quantity: If the rule names it differently.
            unit: If the rule's differs.
            now: The current value, for a rule that does not give it.
            rate: Pieces of work a second during the window. Divides a prediction per second, so that it compares with a
                measurement per piece of work.
            finding: Which finding, from 0.
        """
        effect = self.findings[finding].effect
        now = effect.now if now is None and effect is not None else now
        if effect is None or now is None:
            raise NotShown(f"{self._rule.id} does not say what is now and what will be")
        self.effects.append(
            MeasuredEffect(
                quantity=quantity or effect.quantity,
                unit=unit or effect.unit,
                now=now / rate,
                predicted=effect.predicted / rate,
                before=before,
                after=after,
            )
        )

    def predicted_cost(self) -> float:
        """What the last finding costs, by itself."""
        if self.finding.cost is None:
            raise NotShown(f"{self._rule.id} does not say what it costs")
        return float(self.finding.cost.predicted)

    def text(self, template: str) -> str:
        """A text with the trial's numbers; ``pool`` is the pool's pages, now or as of before."""
        numbers = {"pool": pool_statistic(self.server, "POOL_SIZE")} | self.before
        return template.format(**numbers, after=self.after, evidence=self.evidence)

    @property
    def complete(self) -> bool:
        """Whether the rule was followed, silent afterwards and taken back."""
        taken_back = self.following.taken_back or not self.following.reversible
        return bool(self.following.applied and self.was_silent and taken_back)

    def _window(self, seen: Sequence[Snapshot]) -> Window:
        return Window.of(self._altered.apply(seen) if self._altered else seen, longest=watch.LONGEST)

    def _advice(self, seen: Sequence[Snapshot]) -> Advice:
        return watch.judge(self._window(seen), [self._rule], remembered=self.remembered)

    def _is_blind(self, advice: Advice) -> bool:
        return any(blind.rule == self._rule.id for blind in advice.blind)
