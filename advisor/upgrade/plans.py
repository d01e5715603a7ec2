"""Plans of statements that the new version's optimizer makes in another way; no model knows which of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.upgrade import NotForetold
from advisor.pool.tables import table_name
from advisor.upgrade.upgrade import Upgrade
from exporter import knowledge

OF_PLANS = ("row_constructor_ranges", "hash_join", "plans_by_time")
"""Behaviours that decide whether a statement scans a table."""


def plans(upgrade: Upgrade) -> Iterator[NotForetold]:
    """That scanned tables may be read by another plan."""
    gained = [knowledge.BEHAVIOURS[name].what for name in OF_PLANS if upgrade.gains(name)]
    scanned = list(dict.fromkeys(map(table_name, upgrade.facts.lists["scans"])))
    if gained and scanned:
        yield NotForetold(
            what=f"whether statements still scan {', '.join(scanned)}, and the pages that they read",
            reason=f"the optimizer changes. {' '.join(gained)}",
            cure="run EXPLAIN of the statements on a server of the new version that has the same data",
        )
