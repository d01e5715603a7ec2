"""Questions about one server of a fleet that need a reading of their own: what an upgrade would do, and plans."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from advisor.contract.plan import Plan, TargetName
from advisor.contract.upgrade import UpgradeForecast
from advisor.fleet.client import QueryError
from advisor.fleet.plans import read_plan
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions, UnknownServer
from advisor.fleet.upgrades import read_upgrades
from advisor.fleet.watch import FleetWatch
from advisor.mcp.endpoint import NotAnswered
from advisor.plan.targets.target import PlanRefused
from advisor.rules.rulebook import Rulebook
from advisor.upgrade.target import UpgradeRefused

_LOOK_SECONDS = 0.2
"""Time between two looks whether the first reading is over. A client has its own limit for an answer."""


class FleetReadings:
    """Reads a Prometheus about one server. Questions raise NotAnswered."""

    def __init__(self, watch: FleetWatch, reading: ReadingOptions, rules: Rulebook) -> None:
        """Read nothing yet.

        Args:
            watch: Reads the fleet.
            reading: What it reads.
            rules: Those in force.
        """
        self._watch, self._reading, self._rules = watch, reading, rules

    async def first(self) -> None:
        """Wait until the first reading of the fleet is over."""
        while self._watch.report is None and self._watch.problem is None:  # noqa: ASYNC110 - the watch has no event
            await asyncio.sleep(_LOOK_SECONDS)

    async def forecast(self, to: str, server: str) -> UpgradeForecast:
        """What an upgrade would do to a server."""
        with _answered():
            report = await read_upgrades(self._of(server), to, self._rules.rule_set, Progress())
        forecast = next((server.forecast for server in report.servers if server.forecast is not None), None)
        if forecast is None:
            reasons = "; ".join(group.reason for group in report.not_asked) or "nothing is known of it"
            raise NotAnswered(f"no forecast for {server}: {reasons}")
        return forecast

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str) -> Plan:
        """The change that a finding about a server asks for."""
        with _answered():
            return await read_plan(
                self._of(server), fingerprint, target, self._rules.rule_set, progress=Progress(), manifest=manifest
            )

    def _of(self, server: str) -> ReadingOptions:
        return replace(self._reading, server=server, shard=None)


@contextmanager
def _answered() -> Iterator[None]:
    """Raises NotAnswered for what a reading refuses, in its words."""
    try:
        yield
    except (QueryError, UnknownServer, PlanRefused, UpgradeRefused) as error:
        raise NotAnswered(str(error)) from error
