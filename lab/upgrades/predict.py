"""What the recordings of before foretell of the upgrades that were measured, by the forecast as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

from advisor.contract.upgrade import UpgradeForecast
from advisor.observe.window import Window
from advisor.upgrade.forecast import forecast
from exporter.collectors.variable_origins import VARIABLE_ORIGINS
from exporter.recording.file import replay
from exporter.server import parse_version
from exporter.snapshot import Snapshot
from lab.captures import Capture
from lab.harness.records import Data, Entries, commit
from lab.harness.watch import LONGEST
from lab.upgrades import recorded
from lab.upgrades.measure import part_of, recording
from lab.upgrades.record import ForetoldEffect, LoadFigures, UpgradedLoad
from lab.upgrades.routes import ROUTES, Route, RouteStage
from lab.upgrades.workloads import WORKLOADS, UpgradeWorkload

_ON_ROUTES = {part_of(route, workload): (route, workload) for route in ROUTES for workload in WORKLOADS}
_EARLIER = {recorded.part_of(name): name for name in recorded.LOADS}


def with_forecasts(entries: Entries) -> dict[str, dict[str, Any]]:
    """The measurements, each with what its recordings foretell."""
    with ProcessPoolExecutor() as processes:
        data = processes.map(_foretold, entries, [entry["data"] for entry in entries.values()])
        return {name: {**entries[name], "data": foretold} for name, foretold in zip(entries, data, strict=True)}


def _foretold(part: str, data: Data) -> Data:
    upgrades = [upgraded.model_dump(mode="json") for upgraded in _upgrades(part, data)]
    return {"commit": commit(), "upgrades": upgrades}


def _upgrades(part: str, data: Data) -> Iterator[UpgradedLoad]:
    if part == recorded.PAIRS:
        for before, after in recorded.pairs():
            name, loads = f"recordings of 8.0, {before.scenario}", (recorded.load(before), recorded.load(after))
            yield upgraded(name, recorded.window(before), *loads, option_file=recorded.option_file(before))
    elif part in _EARLIER:
        name, [stage] = _EARLIER[part], data["stages"]
        window = recorded.window(Capture(recorded.EARLIER, name))
        yield upgraded(
            f"recordings of 5.7, {name}", window, recorded.earlier(name), _load(stage, RouteStage(recorded.AFTER))
        )
    else:
        yield from _on_route(*_ON_ROUTES[part], data)


def _on_route(route: Route, workload: UpgradeWorkload, data: Data) -> Iterator[UpgradedLoad]:
    loads = [_load(stage, of_stage) for stage, of_stage in zip(data["stages"], route.stages, strict=True)]
    for number, (before, after) in enumerate(pairwise(loads)):
        history = list(replay(recording(route, workload, number)))
        watched = [_as_version(snapshot, route.stages[number]) for snapshot in history[-before.rounds - 1 :]]
        yield upgraded(f"{route.name}, {workload.load.name}", Window.of(watched, LONGEST), before, after)


def _load(measured: Mapping[str, Any], stage: RouteStage) -> LoadFigures:
    version = stage.version or ".".join(map(str, parse_version(measured["version"])))
    return LoadFigures.model_validate({**measured, "version": version})


def _as_version(snapshot: Snapshot, stage: RouteStage) -> Snapshot:
    """The snapshot as a server of the version would give it whose defaults were set by hand."""
    if not stage.version:
        return snapshot
    server = replace(snapshot.server, version=parse_version(stage.version), version_text=stage.version)
    section = snapshot[VARIABLE_ORIGINS]
    if section is not None:
        origins = {name: kind for name, kind in section.origins.items() if name.replace("_", "-") not in stage.defaults}
        snapshot = snapshot.with_section(VARIABLE_ORIGINS, replace(section, origins=origins))
    return replace(snapshot, server=server)


def upgraded(
    name: str, window: Window, before: LoadFigures, after: LoadFigures, option_file: str | None = None
) -> UpgradedLoad:
    """An upgrade with what its window of before foretells, and the option file of a recording without origins."""
    foretold = forecast(window, after.version, option_file=option_file)
    effects = (*foretold.effects, *foretold.improvements)
    names = ForetoldEffect.model_fields
    return UpgradedLoad(
        name=name,
        before=before,
        after=after,
        effects=tuple(
            ForetoldEffect.model_validate({name: getattr(effect, name) for name in names}) for effect in effects
        ),
        unknown=tuple(_unknown(foretold)),
    )


def _unknown(foretold: UpgradeForecast) -> Iterator[str]:
    """What is named as not known: by itself, or as an effect without a number."""
    yield from (f"{said.what}: {said.reason}" for said in foretold.not_foretold)
    for effect in (*foretold.effects, *foretold.improvements):
        if effect.predicted is None:
            yield effect.summary
