"""Windows and short forms of advice for these tests."""

from __future__ import annotations

from typing import Any

from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from tests.advisor.building import scanned


def scanning(*passes: float, **sections: Any) -> Window:
    """A table of 11,400 pages that is read from disk at each of these passes, ten seconds apart."""
    return Window(tuple(scanned(10.0 * k, n, round(n * 11_400), **sections) for k, n in enumerate(passes)))


def verdicts(advice: Advice) -> tuple[list[str], list[tuple[str, str]]]:
    """The rules that fire, and the blind rules with what they lack."""
    return [finding.rule for finding in advice.recommendations], [(blind.rule, blind.lacks) for blind in advice.blind]
