"""A rule on a real server: it fires, its statements are executed, it falls silent, and they are rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from advisor.advice import evaluation
from advisor.advice.remembered import Remembered
from advisor.casetest.alterations import Alteration
from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness.follow import Following
from lab.harness.records import Data, NotShown
from lab.harness.watch import rules
from lab.proofs.record import Comparison, EvidenceCheck, MeasuredEffect, Promise, ProofRecord
from lab.servers import Server

LONGEST = 3600.0
"""Seconds of a window."""
PATIENCE = 180.0
"""A rule's time budget here, seconds: a proof must not depend on the machine's load."""


class Trial:
    """A rule on a real server, in this order: fires, follow, silent, take_back.

    Attributes:
        server: The running server, with the proof's options.
        rule: The rule as shipped.
        say: Takes a progress message.
        was_silent: Whether the rule was silent, or changed nothing.
        remembered: The memory of days that the rule gets; None where none is kept.
    """

    def __init__(
        self, server: Server, rule: str, say: Callable[[str], None], altered: Alteration | None = None
    ) -> None:
        self.server = server
        self.say = say
        [self.rule] = [each for each in rules() if each.id == rule]
        self._altered = altered
        self._found: Recommendation | None = None
        self._following = Following(server)
        self._silent_after = False
        self.was_silent = False
        self.remembered: Remembered | None = None

    @property
    def found(self) -> Recommendation:
        """The recommendation of the last `fires`."""
        if self._found is None:
            raise AssertionError("the rule has not fired yet")
        return self._found

    def said(self, window: Window | Iterable[Snapshot]) -> list[Recommendation]:
        """The rule's recommendations for a window.

        Raises:
            NotShown: The rule is blind, or it failed.
        """
        advice = self._advice(window)
        if advice.failed or [blind for blind in advice.blind if blind.rule == self.rule.id]:
            raise NotShown(f"{self.rule.id} can't judge: {advice.failed or advice.blind}")
        return list(advice.recommendations)

    def _advice(self, window: Window | Iterable[Snapshot]) -> Advice:
        if not isinstance(window, Window):
            snapshots = tuple(window)
            window = Window.of(self._altered.apply(snapshots) if self._altered else snapshots, longest=LONGEST)
        rule = self.rule.with_budget(PATIENCE)
        return evaluation.advise([rule], window, beside=rules(), remembered=self.remembered)

    def blind(self, window: Window | Iterable[Snapshot]) -> None:
        """Check that the rule is blind.

        Raises:
            NotShown: It judges.
        """
        if not [blind for blind in self._advice(window).blind if blind.rule == self.rule.id]:
            raise NotShown(f"{self.rule.id} is not blind")

    def fires(self, window: Window | Iterable[Snapshot], **subject: str) -> Recommendation:
        """The rule's only recommendation, for this subject or, without one, for any.

        Raises:
            NotShown: There is none, or several.
        """
        self.say("the rule is evaluated")
        found = [each for each in self.said(window) if not subject or dict(each.subject) == subject]
        if len(found) != 1:
            raise NotShown(f"{self.rule.id} fires {len(found)} times, not once, for {subject or 'this server'}")
        self._found = found[0]
        return found[0]

    def silent(self, window: Window | Iterable[Snapshot]) -> None:
        """Check that the rule is silent.

        Raises:
            NotShown: It is not.
        """
        if found := self.said(window):
            raise NotShown(f"{self.rule.id} is not silent: {found[0].summary}")
        self.was_silent = True
        if self._following.applied:
            self._silent_after = True

    def changes_nothing(self, window: Window | Iterable[Snapshot]) -> None:
        """For a counter-proof: check that the rule fires, but changes no setting.

        Raises:
            NotShown: It is silent, or would change a setting.
        """
        found = self.fires(window)
        if found.changes:
            raise NotShown(f"{self.rule.id} would change {found.changes[0].setting}: {found.summary}")
        self.was_silent = True

    def evidence(self, name: str) -> float:
        """A number of the evidence."""
        [value] = [item.value for item in self.found.evidence if item.name == name]
        return float(value)

    def effect(
        self,
        before: float,
        after: float,
        *,
        quantity: str | None = None,
        unit: str | None = None,
        now: float | None = None,
        rate: float = 1.0,
    ) -> MeasuredEffect:
        """The rule's prediction with its measurement.

        Args:
            before: Measured before the rule's statements.
            after: Measured afterwards.
            quantity: The measured quantity, if the rule names it differently.
            unit: Its unit, if the rule's differs.
            now: The current value, for a rule that does not give it.
            rate: Pieces of work a second during the window. Divides a prediction per second, so that it compares with a
                measurement per piece of work.

        Raises:
            NotShown: The rule predicts nothing, or there is no current value.
        """
        said = self.found.effect
        now = said.now if now is None and said is not None else now
        if said is None or now is None:
            raise NotShown(f"{self.rule.id} does not say what is now and what will be")
        return MeasuredEffect(
            quantity=quantity or said.quantity,
            unit=unit or said.unit,
            now=now / rate,
            predicted=said.predicted / rate,
            before=before,
            after=after,
            stated=said.error,
        )

    def follow(self, **by_hand: str) -> None:
        """Execute the rule's statements unchanged, as `Following` does.

        A rule with several recommendations is followed once after each `fires`.

        Args:
            by_hand: Lines of the option file that an action names in its text but has no statement for.

        Raises:
            NotShown: The server refuses a statement or a value, or no action names the line.
        """
        self.say("its statements are executed")
        self._following.follow(self.found.changes, self.found.actions, **by_hand)

    def take_back(self) -> None:
        """Execute the rule's rollback, and check that the settings have their old values.

        Raises:
            NotShown: The server refuses a statement, or a setting differs.
        """
        self.say("they are rolled back")
        self._following.take_back()

    def proved(
        self,
        *,
        condition: str,
        facts: Iterable[EvidenceCheck],
        effects: Iterable[MeasuredEffect] = (),
        measures: Iterable[Comparison] = (),
        promises: Iterable[Promise] = (),
        altered: str = "",
        notes: str = "",
    ) -> Data:
        """The record of the completed proof.

        Raises:
            NotShown: A bound is broken.
            AssertionError: The proof lacks a step.
        """
        taken_back = self._following.taken_back or not self._following.reversible
        if not (self._following.applied and self._silent_after and taken_back):
            raise AssertionError("a proof fires, is followed, falls silent and is taken back")
        record = ProofRecord(
            condition=condition,
            altered=altered,
            summary=self.found.summary,
            facts=tuple(facts),
            applied=tuple(self._following.applied),
            taken_back=tuple(self._following.taken_back),
            effects=tuple(effects),
            measures=tuple(measures),
            promises=tuple(promises),
            notes=notes,
        )
        record.check()
        if not record.facts:
            raise AssertionError("a proof compares the evidence with what is known")
        return record.model_dump(mode="json")
