"""What a proof and a counter-proof are: how a rule is tried on a real server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.casetest.alterations import Alteration
from lab.campaign.part import Data, NotShown, Part
from lab.proofs.record import CounterProofRecord
from lab.proofs.trial import Trial
from lab.servers import Server

LEAST_IN_VAIN = 0.95
"""Where folklore was followed: the worst of its measures, relative to before, does not get better."""


@dataclass(frozen=True)
class Proof:
    """How a rule is proved.

    Attributes:
        rule: Its id.
        options: Of each server that it is proved on, by the server's name; the first is the one that the table shows.
        prove: Takes a `Trial`; returns `Trial.proved`.
        takes: Seconds, about, on each server.
        altered: What every snapshot has instead of what was collected, for conditions that would take too long.
    """

    rule: str
    options: Mapping[str, Mapping[str, str]]
    prove: Callable[[Trial], Data]
    takes: float = 30.0
    altered: Alteration | None = None

    def parts(self) -> list[Part]:
        """One a server."""
        return [
            Part(f"proofs/{self.rule}", server, server, options, self._run, self.takes)
            for server, options in self.options.items()
        ]

    def _run(self, server: Server, say: Callable[[str], None]) -> Data:
        return self.prove(Trial(server, self.rule, say, self.altered))


@dataclass(frozen=True)
class CounterProof:
    """A state where folklore would fire and the rule must not.

    Attributes:
        rule: Its id.
        server, options: Where.
        counter: Takes a `Trial`: sees that the rule is silent (`Trial.silent`), follows folklore, measures.
        takes: Seconds, about.
        short: Whether the short form has it too.
    """

    rule: str
    server: str
    options: Mapping[str, str]
    counter: Callable[[Trial], CounterProofRecord]
    takes: float = 30.0
    short: bool = True

    def part(self, number: int) -> Part:
        """Its one part; ``number`` tells a rule's counter-proofs apart."""
        name = f"folklore {number}, {self.server}"
        return Part(f"proofs/{self.rule}", name, self.server, self.options, self._run, self.takes)

    def _run(self, server: Server, say: Callable[[str], None]) -> Data:
        trial = Trial(server, self.rule, say)
        record = self.counter(trial)
        if not trial.was_silent:
            raise AssertionError("a counter-proof sees that the rule is silent, or changes nothing")
        if record.harm < LEAST_IN_VAIN:
            raise NotShown(f"folklore helps: {record.measures}")
        return record.model_dump(mode="json")
