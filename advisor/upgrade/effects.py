"""The effects of an upgrade, file by file. Each names what it cannot say, with the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from advisor.contract.upgrade import NotForetold, UpgradeEffect
from advisor.upgrade.behaviours import behaviours
from advisor.upgrade.change_buffer import change_buffer
from advisor.upgrade.index_builds import index_builds
from advisor.upgrade.memory import memory
from advisor.upgrade.plans import plans
from advisor.upgrade.scans import scans
from advisor.upgrade.upgrade import Upgrade
from advisor.upgrade.warm_up import warm_up
from advisor.upgrade.writes import writes

Effects = Callable[[Upgrade], Iterator[UpgradeEffect | NotForetold]]

EFFECTS: tuple[Effects, ...] = (behaviours, change_buffer, index_builds, memory, plans, scans, warm_up, writes)
"""In no order: the forecast sorts what they say by pages a second."""
