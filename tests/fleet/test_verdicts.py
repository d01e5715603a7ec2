"""Verdicts of real sidecars, scraped by a real Prometheus, beside what each sidecar says of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from advisor.contract.fleet import FleetFinding, FleetReport, Source
from advisor.contract.recommendation import Advice, Recommendation
from advisor.fleet.identity import Identity
from advisor.fleet.progress import Outcome, Progress
from advisor.fleet.reading import Options, read
from advisor.rules.rulebook import Rulebook, builtin_directory
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from tests.advisor.building import REPOSITORY, capture
from tests.advisor.sidecar import Sidecar
from tests.unavailable import or_give_up
from tests.waiting import wait_for

CAPTURES = sorted(
    path.parent.relative_to(REPOSITORY / "tests/captures").as_posix()
    for path in (REPOSITORY / "tests/captures").glob("*/*/recording.jsonl.gz")
)
AT_ONCE = 6
"""Sidecars beside each other: each takes 100 MiB."""
FEW = ("mysql-9.7/change-buffer-off", "mysql-5.6/write-pressure", "mariadb-11.8/idle")
"""Recordings that are judged in a second or two: a cure, two changes at once, and nothing."""


def name_of(recording: str) -> str:
    return recording.replace("/", "-")


def jobs(sidecars: Mapping[str, Sidecar]) -> list[Mapping[str, Any]]:
    """Every target twice, as a pair of Prometheus would have it."""
    return [
        {
            "job_name": f"replica-{replica}",
            "static_configs": [
                {
                    "targets": [sidecar.url.removeprefix("http://")],
                    "labels": {"instance": f"{name}:9747", "cluster": "eu", "prometheus_replica": replica},
                }
                for name, sidecar in sidecars.items()
            ],
        }
        for replica in ("a", "b")
    ]


@contextmanager
def scraped(folder: Path, recordings: Sequence[str]) -> Iterator[tuple[Mapping[str, Sidecar], Prometheus]]:
    """A sidecar for each recording, all judged, and a Prometheus that has scraped them since."""
    with ExitStack() as stack:
        sidecars = {}
        for each in recordings:
            own = folder / name_of(each)
            own.mkdir()
            sidecars[name_of(each)] = Sidecar(own, "--recording", capture(each))
            stack.callback(sidecars[name_of(each)].kill)
        asked = stack.enter_context(or_give_up(prometheus.running(folder, jobs(sidecars))))
        wait_for(lambda: all(each.judged() for each in sidecars.values()))
        judged = time.time()

        def seen() -> bool:
            series = asked.query("timestamp(innodb_up)")
            return len(series) == 2 * len(sidecars) and all(each.value > judged for each in series)

        wait_for(seen)
        yield sidecars, asked


def reading(url: str, progress: Progress | None = None, **options: Any) -> FleetReport:
    rules = Rulebook(builtin_directory()).rule_set
    soon = time.time() // 60 * 60 + 60
    return asyncio.run(read(Options(url, rules, at=soon, **options), progress or Progress()))


def essence(found: Recommendation | FleetFinding) -> tuple[Any, ...]:
    """What both must say alike: the last item is the SQL."""
    saved = (
        found.read_bytes_saved_per_second
        if isinstance(found, FleetFinding)
        else found.effect and found.effect.read_bytes_saved_per_second
    )
    return found.rule, found.severity, dict(found.subject), found.confidence, saved, found.changes


def compare(report: FleetReport, sidecars: Mapping[str, Sidecar]) -> int:
    """Hold a report to what each sidecar says, and return how many findings were compared."""
    servers = {each.name: each for each in report.servers}
    assert set(servers) == {f"eu/{name}" for name in sidecars}
    assert {each.source for each in report.servers} == {Source.VERDICT}
    assert (report.not_asked, report.vanished, report.warnings) == ((), (), ())
    compared = 0
    for name, sidecar in sidecars.items():
        advice = Advice.model_validate(sidecar.get("/advise", headers={"Accept": "application/json"}).json())
        found = [each for each in report.findings if each.server == f"eu/{name}"]
        assert {each.fingerprint: essence(each) for each in found} == {
            each.fingerprint: essence(each) for each in advice.recommendations
        }, name
        assert all(each.page_url and each.page_url.endswith(each.fingerprint) for each in found)
        blind, failed = ({each.rule for each in some} for some in (advice.blind, advice.failed))
        assert set(servers[f"eu/{name}"].undecided) == blind | failed, name
        assert advice.server.endswith(servers[f"eu/{name}"].version or "unknown")
        compared += len(found)
    return compared


def test_a_fleet_says_what_each_sidecar_says(tmp_path: Path) -> None:
    with scraped(tmp_path, FEW) as (sidecars, asked):
        progress = Progress()
        assert compare(reading(asked.url, progress), sidecars) >= 2
        assert progress.queries == {Outcome.ANSWERED: 11}
        managed = reading(asked.url, services=(('cluster="eu"', "rds"),))
        assert {change.via for each in managed.findings for change in each.changes} == {
            "DB parameter group (Amazon RDS)"
        }
        one = reading(asked.url, server=f"eu/{name_of(FEW[0])}")
        assert {each.server for each in one.findings} == {f"eu/{name_of(FEW[0])}"}
        assert reading(asked.url, selector='cluster="us"').servers == ()
        # A pair of Prometheus is no two servers, as above; three instances are.
        merged = reading(asked.url, identity=Identity(("cluster",)))
        assert ([each.name for each in merged.servers], merged.findings) == (["eu"], ())
        assert ["identity is not unique" in each.reason for each in merged.not_asked] == [True]
        sidecars[name_of(FEW[0])].stop()
        wait_for(lambda: len(asked.query("innodb_up")) == 2 * (len(FEW) - 1))
        left = reading(asked.url)
        assert f"eu/{name_of(FEW[0])}" not in {each.name for each in left.servers}
        assert not any(each.server == f"eu/{name_of(FEW[0])}" for each in left.findings)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(CAPTURES), AT_ONCE), ids=lambda first: name_of(CAPTURES[first]))
def test_a_fleet_says_what_every_recorded_server_says(tmp_path: Path, first: int) -> None:
    with scraped(tmp_path, CAPTURES[first : first + AT_ONCE]) as (sidecars, asked):
        compare(reading(asked.url), sidecars)
        gone = next(iter(sidecars))
        began = time.time()
        wait_for(lambda: time.time() // 60 > began // 60)  # the hour is looked at in steps of a minute
        time.sleep(2)
        sidecars[gone].stop()
        wait_for(lambda: len(asked.query("innodb_up")) == 2 * (len(sidecars) - 1))
        stopped = time.time()
        [vanished] = reading(asked.url).vanished
        assert vanished.server == f"eu/{gone}"
        assert stopped - 70 < vanished.at < stopped + 1
