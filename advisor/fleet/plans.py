"""The plan of a change of one server of a fleet, from its series alone."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping

from advisor.contract.plan import Plan, TargetName
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.reading import ReadingOptions, chosen, opened
from advisor.fleet.windows import WindowReader, managed
from advisor.observe.window import Window
from advisor.plan.plan import plan
from advisor.plan.targets.target import PlanRefused
from advisor.rules.rulebook import RuleSet


async def read_plan(
    options: ReadingOptions,
    fingerprint: str,
    target: TargetName,
    rules: RuleSet,
    *,
    progress: Progress,
    manifest: str | None = None,
) -> Plan:
    """Plan the change of a finding.

    Args:
        options: What to read; it names one server.
        fingerprint: Of the finding.
        target: Who owns the settings.
        rules: Those in force.
        progress: Follows the stages.
        manifest: The owner's object or file of today, as text.

    Raises:
        QueryError: Prometheus does not answer.
        UnknownServer: There is no such server.
        PlanRefused: There is no plan, no such finding, or too little is known of the server.
    """
    async with opened(options, progress) as (reader, known):
        [entry] = chosen(options, known).servers.values()
        with progress.during("windows"):
            window = await _window(reader, entry)
            members = await others_of_set(reader, entry, known.servers)
    planning = functools.partial(planned, rules=rules, seconds=options.model_seconds)
    with progress.during("models"):
        return await asyncio.to_thread(planning, window, entry, fingerprint, target, manifest=manifest, members=members)


def planned(
    window: Window,
    entry: InventoryEntry,
    fingerprint: str,
    target: TargetName,
    *,
    rules: RuleSet,
    seconds: float,
    manifest: str | None,
    members: Mapping[str, Window] = {},
) -> Plan:
    """The plan from a server's window.

    Args:
        window: From series.
        entry: The server.
        fingerprint: Of the finding.
        target: Who owns the settings.
        rules: Those in force.
        seconds: CPU time for models.
        manifest: The owner's object or file of today, as text.
        members: The windows of the members that may take over, by their names.

    Raises:
        PlanRefused: There is no plan, or no such finding.
    """
    judged = judge(rules.rules, window, entry.series, rules.suppressions)
    judged = judge(rules.rules, window, entry.series, rules.suppressions, before=judged, seconds=seconds)
    findings = judged.findings
    finding = next((finding for finding in findings if finding.fingerprint == fingerprint), None)
    if finding is None:
        names = ", ".join(finding.fingerprint for finding in findings) or "none"
        raise PlanRefused(
            f"no finding on {entry.key.name} from its series has the fingerprint {fingerprint}; there are {names}. If "
            "it has a sidecar, ask that with --url"
        )
    return plan(finding, window, target, manifest, beside=findings, members=members, seconds=seconds)


async def others_of_set(
    reader: FleetReader, entry: InventoryEntry, servers: Mapping[ServerKey, InventoryEntry]
) -> Mapping[str, Window]:
    """The windows of the other pods of a server's StatefulSet, by their names: those that may take over.

    Args:
        reader: Asks.
        entry: The server.
        servers: All that are known.

    Raises:
        QueryError: A query failed.
    """
    if not entry.key.is_pod:
        return {}
    others = [
        other
        for key, other in servers.items()
        if key != entry.key and key.is_pod and _set_of(key) == _set_of(entry.key) and other.series is entry.series
    ]
    windows = await WindowReader(reader, entry.series).windows([other.key for other in others]) if others else {}
    return {key.name: window for key, window in windows.items() if isinstance(window, Window)}


def _set_of(key: ServerKey) -> tuple[str | None, ...]:
    """The cluster, the namespace and the StatefulSet of a pod: its name without the ordinal."""
    return key.labels.get("cluster"), key.labels["namespace"], key.labels["pod"].rpartition("-")[0]


async def _window(reader: FleetReader, entry: InventoryEntry) -> Window:
    """The server's window, with its tables where these are known. Raises PlanRefused."""
    windows, key = WindowReader(reader, entry.series), entry.key
    window = (await windows.windows([key])).get(key, "no series tell of it")
    reason = entry.ambiguous or (window if isinstance(window, str) else "")
    if reason or isinstance(window, str):
        raise PlanRefused(f"{key.name}: {reason}")
    window = managed(window, entry)
    async for part in windows.tables({key: window}):
        whole = part.get(key, window)
        window = window if isinstance(whole, str) else whole  # what is known without tables still holds
    return window
