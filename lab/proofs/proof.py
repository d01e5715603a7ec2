"""A proof and a counter-proof: a procedure on a real server, and as data what must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from advisor.casetest.alterations import Alteration
from lab.harness.records import Data, NotShown, Part, Say
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck, ProofRecord
from lab.proofs.trial import RuleTrial
from lab.reports.criterion import broken
from lab.servers import PrivateServer

Procedure = Callable[[RuleTrial], None]
Options = Mapping[str, Mapping[str, str]]
"""Server options by server name."""


def _nothing(_: RuleTrial) -> None:
    """The default procedure, until one is decorated."""


@dataclass(frozen=True)
class EvidenceFigure:
    """A number of the rule's evidence, and the lab's figure that it must equal.

    Attributes:
        name: For the reader.
        evidence: Its name in the evidence.
        figure: The name of the lab's figure, as of before the advice.
        within: The most that they may differ by, as a share of the figure.
        per: The figure that divides the evidence, such as a rate; empty for none.
    """

    name: str
    evidence: str
    figure: str
    within: float = 0.1
    per: str = ""

    def check(self, trial: RuleTrial) -> EvidenceCheck:
        """The check, with a trial's numbers."""
        value = trial.evidence[self.evidence] / (trial.before[self.per] if self.per else 1.0)
        return EvidenceCheck(name=self.name, said=value, known=trial.before[self.figure], within=self.within)


@dataclass(frozen=True)
class PredictedFigure:
    """The rule's prediction for one of the lab's figures; `MeasuredEffect` has the bounds.

    Attributes:
        figure: The name of the figure.
        quantity, unit: If the rule names them differently.
        per: The figure that divides the prediction, such as pieces of work a second; empty for none.
        now: The figure of the current value, for a rule that does not give it.
    """

    figure: str
    quantity: str = ""
    unit: str = ""
    per: str = ""
    now: str = ""

    def predict(self, trial: RuleTrial) -> None:
        """Add it, with its measurement, to the effects of a trial."""
        trial.predicts(
            trial.before[self.figure],
            trial.after[self.figure],
            quantity=self.quantity,
            unit=self.unit,
            rate=trial.before[self.per] if self.per else 1.0,
            now=trial.before[self.now] if self.now else None,
        )


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of the same work before and after; `Comparison` has the bound.

    Attributes:
        what, unit: For the reader.
        figure: Its name.
        times: The factor from the figure to the unit.
        least: The figure of the least value, for a time; empty where other work on the machine cannot add to it.
    """

    what: str
    unit: str
    figure: str
    times: float = 1.0
    least: str = ""

    def compare(self, trial: RuleTrial) -> Comparison:
        """The comparison, with a trial's numbers."""
        return Comparison(
            what=self.what,
            unit=self.unit,
            before=self.times * trial.before[self.figure],
            after=self.times * trial.after[self.figure],
            least=self.times * trial.after[self.least] if self.least else None,
        )


def pages_and_time(what: str) -> tuple[ComparedFigure, ComparedFigure]:
    """Pages read and seconds of some work."""
    return (
        ComparedFigure(f"pages read by {what}", "pages", "pages"),
        ComparedFigure(f"time of {what}", "s", "seconds", least="least_seconds"),
    )


@dataclass(frozen=True)
class Proof:
    """The proof of a rule.

    The texts are templates: they may name the lab's figures before the advice, ``after[…]`` those after it, and
    ``evidence[…]`` the rule's evidence.

    Attributes:
        rule: The rule's id.
        options: Server options by server name. The table shows the first server.
        condition: The condition in words.
        facts: What the rule's evidence must say.
        effect: What it predicts; None where it predicts nothing, or the procedure follows several findings.
        measures: What must not become worse.
        notes: Further remarks for the reader.
        altered: Replaces values in every snapshot, for conditions that would take too long to create.
        why_altered: That in words, or what else is scaled down.
        procedure: Brings the condition about; the rule fires, is followed, falls silent and is taken back.
    """

    rule: str
    options: Options
    condition: str
    facts: tuple[EvidenceFigure, ...]
    effect: PredictedFigure | None = None
    measures: tuple[ComparedFigure, ...] = ()
    notes: str = ""
    altered: Alteration | None = None
    why_altered: str = ""
    procedure: Procedure = _nothing

    def __call__(self, procedure: Procedure) -> Proof:
        """The proof of this procedure: a decorator."""
        return replace(self, procedure=procedure)

    def parts(self) -> list[Part]:
        """One part per server."""
        return [
            Part(f"proofs/{self.rule}", server, server, options, self._run) for server, options in self.options.items()
        ]

    def _run(self, server: PrivateServer, say: Say) -> Data:
        trial = RuleTrial(server, self.rule, say, self.altered)
        self.procedure(trial)
        if not trial.complete:
            raise AssertionError("a proof fires, is followed, falls silent and is taken back")
        if self.effect:
            self.effect.predict(trial)
        record = ProofRecord(
            condition=trial.text(self.condition),
            altered=self.why_altered,
            summary=trial.finding.summary,
            facts=tuple(fact.check(trial) for fact in self.facts),
            applied=tuple(trial.following.applied),
            taken_back=tuple(trial.following.taken_back),
            effects=tuple(trial.effects),
            measures=tuple(measure.compare(trial) for measure in self.measures),
            promises=tuple(trial.promises),
            notes=trial.text(self.notes),
        )
        return _checked(record)


@dataclass(frozen=True)
class CounterProof:
    """A state where folklore would fire and the rule must not. Its texts are templates, as a proof's are.

    Attributes:
        rule: The rule's id.
        options: Server options by server name.
        folklore: The advice.
        source: Its source.
        condition: The state in words.
        measures: What becomes worse, or no better.
        notes: Further remarks for the reader.
        procedure: Brings the state about; the rule is silent, folklore is followed.
    """

    rule: str
    options: Options
    folklore: str
    source: str
    condition: str
    measures: tuple[ComparedFigure, ...]
    notes: str = ""
    procedure: Procedure = _nothing

    def __call__(self, procedure: Procedure) -> CounterProof:
        """The counter-proof of this procedure: a decorator."""
        return replace(self, procedure=procedure)

    def part(self, number: int, server: str) -> Part:
        """Its part on a server; ``number`` distinguishes those of a rule."""
        name = f"folklore {number}, {server}"
        return Part(f"proofs/{self.rule}", name, server, self.options[server], self._run)

    def _run(self, server: PrivateServer, say: Say) -> Data:
        trial = RuleTrial(server, self.rule, say)
        self.procedure(trial)
        if not (trial.was_silent and trial.folklore):
            raise AssertionError("a counter-proof checks that the rule is silent, and follows folklore")
        record = CounterProofRecord(
            folklore=self.folklore,
            source=self.source,
            condition=trial.text(self.condition),
            followed=tuple(trial.folklore),
            measures=tuple(measure.compare(trial) for measure in self.measures),
            notes=trial.text(self.notes),
        )
        return _checked(record)


def _checked(record: ProofRecord | CounterProofRecord) -> Data:
    """The record as data.

    Raises:
        NotShown: It breaks a bound.
    """
    if failures := list(broken(record.criteria())):
        raise NotShown("; ".join(failures))
    return record.model_dump(mode="json")
