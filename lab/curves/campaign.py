"""A run over all workloads: what was measured is kept, and each run makes all predictions anew from it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from lab import workloads as tables
from lab.campaign import records
from lab.campaign.campaign import Campaign
from lab.campaign.part import Data, Part, PartResult
from lab.campaign.progress import Reporter
from lab.curves import clients, judge, loads, measure, once, predict
from lab.curves import workloads as catalogue
from lab.curves.measure import FULL, SHORT
from lab.curves.workloads import WORKLOADS
from lab.packages import cache

GROUP = "curves"
SERVERS = ("mysql-9.7", "mariadb-11.8")
SHORT_SERVER, SHORT_WORKLOADS = "mysql-9.7", ("zipf-0.9",)
_PAGES = {each.name: each.pages for each in WORKLOADS}
_MEASURED_BY: Sequence[ModuleType] = (clients, loads, measure, once, catalogue, tables)


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


def parts(*, short: bool = False) -> list[Part]:
    """The measurements, one server after the other.

    Args:
        short: One workload at fewer sizes, and the job that reads everything once, on one server.
    """
    return [
        part
        for server in SERVERS
        if not short or server == SHORT_SERVER
        for part in _parts_on(server, _folder(server, short=short), short=short)
    ]


def _parts_on(server: str, folder: Path, *, short: bool) -> Iterable[Part]:
    plan = SHORT if short else FULL
    for each in WORKLOADS:
        if not short or each.name in SHORT_WORKLOADS:
            work = partial(measure.measure, each, plan, _recordings(folder, each.name))
            yield Part(GROUP, f"{server}, {each.name}", server, measure.OPTIONS, work, plan.takes * each.slower)
    job = partial(once.measure, _recordings(folder, once.NAME))
    yield Part(GROUP, f"{server}, {once.NAME}", server, measure.OPTIONS, job, once.TAKES)


def run(chosen: Sequence[Part], reporter: Reporter, *, short: bool = False, fresh: bool = False) -> Outcome:
    """Measure what this code has not measured yet, and predict everything.

    The short form always measures.

    Raises:
        KeyboardInterrupt: The run was interrupted. The next one measures the rest.
    """
    done: list[PartResult] = []
    failed: dict[str, str] = {}
    unavailable: dict[str, str] = {}
    for server in dict.fromkeys(part.server for part in chosen):
        folder = _folder(server, short=short)
        campaign = Campaign([part for part in chosen if part.server == server], reporter, folder)
        if fresh or short:
            campaign.forget()
        done += [_predicted(each, folder, reporter.say) for each in campaign.run()]
        failed |= campaign.failed
        unavailable |= campaign.unavailable
    if bounds := list(broken((each.server, each.part.name, each.data) for each in done)):
        failed[GROUP] = "; ".join(bounds)
    return Outcome(done, failed, unavailable)


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


def recording(server: str, name: str, share: float) -> Path:
    """The recording of a workload in a watched pool, once this code has measured it."""
    return measure.recording(_recordings(_folder(server, short=False), name), share)


def _predicted(result: PartResult, folder: Path, say: Callable[[str], None]) -> PartResult:
    name = workload(result.part.name)
    say(f"{result.part.name} is predicted")
    recordings = _recordings(folder, name)
    data: dict[str, Any] = {**result.data, "model": predict.model()}
    if name == once.NAME:
        data |= once.judge(recordings)
    else:
        data["predicted"] = predict.predict(result.data, recordings, _PAGES[name])
    return replace(result, data=data)


def _recordings(folder: Path, name: str) -> Path:
    return folder / "recordings" / name


def _folder(server: str, *, short: bool) -> Path:
    """The cache's folder of what this code has measured on a server.

    It outlives changes of all other code, so that a changed model can predict from the same recordings.
    """
    digest = hashlib.sha256("".join(inspect.getsource(each) for each in _MEASURED_BY).encode()).hexdigest()[:12]
    return cache.folder() / "curves" / (f"{digest}-short" if short else digest) / server
