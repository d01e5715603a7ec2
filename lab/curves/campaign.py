"""A run over all workloads: measurements are kept in the cache, and each run makes all predictions anew from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.curves import datasets, judge, measure, once, predict
from lab.curves.workloads import WORKLOADS, CurveWorkload
from lab.harness import records
from lab.harness.campaign import Campaign, Reporter
from lab.harness.records import Data, Part, PartResult
from lab.packages import cache
from lab.reports import criterion

GROUP = "curves"
SERVERS = ("mysql-9.7", "mariadb-11.8")
_MEASUREMENT = 1
"""Raise it when the measurement changes: results are kept by this number, the options and the workload."""


@dataclass(frozen=True)
class CurvesRun:
    """The results of a run.

    Attributes:
        results: With predictions.
        failed, unavailable: Why a part has none, by part. ``failed`` also says which bounds the results break.
    """

    results: Sequence[PartResult]
    failed: Mapping[str, str]
    unavailable: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether all workloads are in it."""
        return [str(result.part) for result in self.results] == [str(part) for part in parts()]

    def record(self) -> None:
        """Write lab/records/curves.json."""
        records.save(GROUP, self.results)


def parts() -> list[Part]:
    """The measurements, one server after the other."""
    return [part for server in SERVERS for part in (*(_part(server, load) for load in WORKLOADS), _job(server))]


def _part(server: str, workload: CurveWorkload) -> Part:
    return Part(
        GROUP,
        f"{server}, {workload.name}",
        server,
        measure.OPTIONS | {"innodb-buffer-pool-size": f"{measure.mebibytes(workload, 1.0)}M"},
        partial(measure.measure, workload, recording(server, workload.name)),
        partial(datasets.prepared, server, workload.load.dataset, measure.OPTIONS),
        _version(workload.name),
    )


def _job(server: str) -> Part:
    work = partial(once.measure, recording(server, once.NAME))
    name = f"{server}, {once.NAME}"
    return Part(GROUP, name, server, measure.OPTIONS, work, version=_version(once.NAME))


def run(chosen: Sequence[Part], reporter: Reporter, *, fresh: bool = False) -> CurvesRun:
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
        predicted = processes.map(
            _predict, [(result.server, workload(result.part.name), result.data) for result in measured]
        )
        results = [replace(result, data=data) for result, data in zip(measured, predicted, strict=True)]
    failed = dict(campaign.failed)
    if failures := list(broken((result.server, result.part.name, result.data) for result in results)):
        failed[GROUP] = "; ".join(failures)
    return CurvesRun(results, failed, campaign.unavailable)


def broken(results: Iterable[tuple[str, str, Data]]) -> Iterator[str]:
    """The bounds that results break: server, part and data of each."""
    curves: list[Data] = []
    jobs: dict[str, Data] = {}
    for server, part, data in results:
        if workload(part) == once.NAME:
            jobs[server] = data
        else:
            curves.append(data)
    return criterion.broken((*judge.criteria(curves), *judge.of_jobs(jobs)))


def workload(part: str) -> str:
    """The workload of a part."""
    return part.partition(", ")[2]


def recording(server: str, name: str) -> Path:
    """The recording of a workload, once it was measured."""
    return _folder() / "recordings" / server / f"{name}-{_version(name)}.jsonl.gz"


def _predict(measured: tuple[str, str, Data]) -> Data:
    """The measurements of a workload on a server, with the predictions from its recording."""
    server, name, data = measured
    path, model = recording(server, name), {"model": predict.model()}
    if name == once.NAME:
        return {**data, **model, **once.judge(path)}
    return {**data, **model, "predicted": predict.predict(data, path)}


def _version(name: str) -> str:
    """A digest of what decides a measurement."""
    decides = [
        (load.load, load.rest, load.scans, measure.mebibytes(load, 1.0)) for load in WORKLOADS if load.name == name
    ]
    return hashlib.sha256(repr((_MEASUREMENT, measure.OPTIONS, decides)).encode()).hexdigest()[:8]


def _folder() -> Path:
    """The cache's folder of what was measured, which a changed model can predict from."""
    return cache.folder() / "curves"
