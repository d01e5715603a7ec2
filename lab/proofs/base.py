"""A proof and a counter-proof: tests of a rule on a real server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.casetest.alterations import Alteration
from lab.harness.records import Data, NotShown, Part
from lab.proofs.record import CounterProofRecord
from lab.proofs.trial import Trial
from lab.servers import Server

LEAST_HARM = 0.95
"""The least ratio, after to before, of the worst quantity once folklore was followed: it must not improve."""


@dataclass(frozen=True)
class Proof:
    """The proof of a rule.

    Attributes:
        rule: The rule's id.
        options: Server options by server name. The table shows the first server.
        prove: Takes a `Trial` and returns `Trial.proved`.
        takes: Approximate seconds on each server.
        altered: Replaces values in every snapshot, for conditions that would take too long to create.
    """

    rule: str
    options: Mapping[str, Mapping[str, str]]
    prove: Callable[[Trial], Data]
    takes: float = 30.0
    altered: Alteration | None = None

    def parts(self) -> list[Part]:
        """One part per server."""
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
        rule: The rule's id.
        server, options: The server and its options.
        counter: Takes a `Trial`, checks that the rule is silent (`Trial.silent`), follows folklore, and measures.
        takes: Approximate seconds.
    """

    rule: str
    server: str
    options: Mapping[str, str]
    counter: Callable[[Trial], CounterProofRecord]
    takes: float = 30.0

    def part(self, number: int) -> Part:
        """Its part; ``number`` distinguishes a rule's counter-proofs."""
        name = f"folklore {number}, {self.server}"
        return Part(f"proofs/{self.rule}", name, self.server, self.options, self._run, self.takes)

    def _run(self, server: Server, say: Callable[[str], None]) -> Data:
        trial = Trial(server, self.rule, say)
        record = self.counter(trial)
        if not trial.was_silent:
            raise AssertionError("a counter-proof must check that the rule is silent or changes nothing")
        if record.harm < LEAST_HARM:
            raise NotShown(f"folklore helps: {record.measures}")
        return record.model_dump(mode="json")
