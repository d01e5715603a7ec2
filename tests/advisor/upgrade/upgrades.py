"""Upgrades of recorded servers, and what one kind of effect says of them."""

from __future__ import annotations

from typing import Any

from advisor import facts
from advisor.casetest.alterations import Alteration
from advisor.contract.upgrade import NotForetold, UpgradeEffect
from advisor.observe.window import Window
from advisor.pool.model import PoolModel
from advisor.upgrade.defaults import settings_of
from advisor.upgrade.forecast import Effects
from advisor.upgrade.target import target
from advisor.upgrade.upgrade import Upgrade
from tests.advisor.building import captured


def upgrade_of(recording: str | Window, to: str, **alterations: Any) -> Upgrade:
    """The upgrade of a capture, altered like a case of a rule, or of a window."""
    window = captured(recording) if isinstance(recording, str) else recording
    if alterations:
        window = Window(tuple(Alteration.model_validate(alterations).apply(window.snapshots)))
    before, known = window.latest.server, facts.facts(window)
    after = target(before, to)
    return Upgrade(window, known, PoolModel(window, known), before, after, settings_of(window, after, None))


def said(effects: Effects, upgrade: Upgrade) -> dict[str, UpgradeEffect]:
    """The effects, by name and quantity: that of reads comes before that of writes."""
    by_name: dict[str, UpgradeEffect] = {}
    for effect in effects(upgrade):
        if isinstance(effect, UpgradeEffect):
            by_name.setdefault(effect.name, effect)
    return by_name


def not_foretold(effects: Effects, upgrade: Upgrade) -> list[NotForetold]:
    """What cannot be said."""
    return [unknown for unknown in effects(upgrade) if isinstance(unknown, NotForetold)]
