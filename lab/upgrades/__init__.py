"""Upgrades of real servers: the same load before and after, predicted from the recording of before alone."""

from __future__ import annotations

from collections.abc import Iterator

from lab.harness.campaign import Study
from lab.harness.records import Entries
from lab.upgrades import measure, predict, record, recorded
from lab.upgrades.record import UpgradedLoad

SHORT = f"{measure.GROUP}: {measure.SHORT}"
"""The part that CI runs."""


def study() -> Study:
    """The measured upgrades."""
    return Study([*measure.parts(), *recorded.parts()], broken, lines, predict.with_forecasts)


def upgrades(entries: Entries) -> list[UpgradedLoad]:
    """Those of a record's parts."""
    return [
        UpgradedLoad.model_validate(upgraded) for entry in entries.values() for upgraded in entry["data"]["upgrades"]
    ]


def broken(entries: Entries) -> Iterator[str]:
    """The bounds that do not hold, in words."""
    return record.broken(upgrades(entries))


def lines(entries: Entries) -> Iterator[str]:
    """Each figure in a line."""
    for upgraded in upgrades(entries):
        for figure in upgraded.judged():
            yield f"{upgraded.name} to {upgraded.after.version}: {figure.what} {figure.measured}: {figure.verdict}"
