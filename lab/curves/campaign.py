"""A run over all workloads: what was measured is kept, and each run makes all predictions anew from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.curves import datasets, judge, measure, once, predict
from lab.curves.workloads import WORKLOADS, Workload
from lab.harness import records
from lab.harness.campaign import Campaign, Reporter
from lab.harness.records import Data, Part, PartResult
from lab.packages import cache

GROUP = "curves"
SERVERS = ("mysql-9.7", "mariadb-11.8")
_MEASUREMENT = 1
"""Raise it when what is measured changes: kept results are those of this number, these options and this workload."""


@dataclass(frozen=True)
class Outcome:
    """What a run has.

    Attributes:
        done: The results, with predictions.
        failed, unavailable: Why a part has none, by part. ``failed`` also says which bounds the results break.
    """

    done: Sequence[PartResult]
    failed: Mapping[str, str]
    unavailable: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether all workloads are in it."""
        return [str(each.part) for each in self.done] == [str(part) for part in parts()]

    def record(self) -> None:
        """Write lab/records/curves.json."""
        records.save(GROUP, self.done)


def parts() -> list[Part]:
    """The measurements, one server after the other."""
    return [part for server in SERVERS for part in (*(_part(server, each) for each in WORKLOADS), _job(server))]


def _part(server: str, workload: Workload) -> Part:
    return Part(
        GROUP,
        f"{server}, {workload.name}",
        server,
        measure.OPTIONS | {"innodb-buffer-pool-size": f"{measure.mebibytes(workload, 1.0)}M"},
        partial(measure.measure, workload, recording(server, workload.name)),
        workload.takes,
        partial(datasets.prepared, server, workload.load.dataset, measure.OPTIONS),
        _version(workload.name),
    )


def _job(server: str) -> Part:
    work = partial(once.measure, recording(server, once.NAME))
    name = f"{server}, {once.NAME}"
    return Part(GROUP, name, server, measure.OPTIONS, work, once.TAKES, version=_version(once.NAME))


def run(chosen: Sequence[Part], reporter: Reporter, *, fresh: bool = False) -> Outcome:
    """Measure what was not measured yet, and predict everything.

    Raises:
        KeyboardInterrupt: The run was interrupted. The next one measures the rest.
    """
    campaign = Campaign(chosen, reporter, _folder())
    if fresh:
        campaign.forget()
    measured = campaign.run()
    reporter.note(f"{len(measured)} recordings are predicted from")
    with ProcessPoolExecutor() as processes:
        servers, names = [each.server for each in measured], [workload(each.part.name) for each in measured]
        data = processes.map(_predicted, servers, names, [each.data for each in measured])
        done = [replace(each, data=with_predicted) for each, with_predicted in zip(measured, data, strict=True)]
    failed = dict(campaign.failed)
    if bounds := list(broken((each.server, each.part.name, each.data) for each in done)):
        failed[GROUP] = "; ".join(bounds)
    return Outcome(done, failed, campaign.unavailable)


def broken(results: Iterable[tuple[str, str, Data]]) -> Iterable[str]:
    """The bounds that results break: server, part and data of each."""
    curves, jobs = {}, {}
    for server, part, data in results:
        name = workload(part)
        if name == once.NAME:
            jobs[server] = data
        else:
            curves[server, name] = data
    return judge.broken(curves, jobs)


def workload(part: str) -> str:
    """The workload of a part."""
    return part.partition(", ")[2]


def recording(server: str, name: str) -> Path:
    """The recording of a workload, once it was measured."""
    return _folder() / "recordings" / server / f"{name}-{_version(name)}.jsonl.gz"


def _predicted(server: str, name: str, measured: Data) -> Data:
    """What was measured, with what is predicted from the recording."""
    path, model = recording(server, name), {"model": predict.model()}
    if name == once.NAME:
        return {**measured, **model, **once.judge(path)}
    return {**measured, **model, "predicted": predict.predict(measured, path)}


def _version(name: str) -> str:
    """A digest of what decides a measurement."""
    decides = [
        (each.load, each.rest, each.scans, measure.mebibytes(each, 1.0)) for each in WORKLOADS if each.name == name
    ]
    return hashlib.sha256(repr((_MEASUREMENT, measure.OPTIONS, decides)).encode()).hexdigest()[:8]


def _folder() -> Path:
    """The cache's folder of what was measured, which a changed model can predict from."""
    return cache.folder() / "curves"
