"""Verdicts of sidecars in a real Prometheus, beside what each sidecar says of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from advisor.contract.fleet import FleetReport, Source
from advisor.contract.recommendation import Advice
from advisor.fleet.identity import Identity
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions, read
from advisor.rules.rulebook import Rulebook, builtin_directory
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from tests.advisor.building import REPOSITORY, capture
from tests.advisor.fleet import reports
from tests.advisor.in_process import InProcess
from tests.fleet.blocks import Blocks
from tests.unavailable import or_give_up
from tests.waiting import wait_for

CAPTURES = sorted(
    path.parent.relative_to(REPOSITORY / "tests/captures").as_posix()
    for path in (REPOSITORY / "tests/captures").glob("*/*/recording.jsonl.gz")
)
AT_ONCE = 6
"""Sidecars beside each other."""
END = time.time() // 60 * 60
"""Of readings, and of the last scrape."""
GONE = END - 1_200
"""The last scrape of a target that has gone."""
FEW = ("mysql-9.7/change-buffer-off", "mysql-5.6/write-pressure", "mariadb-11.8/idle")
"""Recordings that are judged in a second or two: a cure, two changes at once, and nothing."""


def name_of(recording: str) -> str:
    return recording.replace("/", "-")


@contextmanager
def watching(recordings: Sequence[str]) -> Iterator[Mapping[str, InProcess]]:
    """A sidecar for each recording, all judged."""
    with ExitStack() as stack:
        sidecars = {name_of(name): stack.enter_context(InProcess("--recording", capture(name))) for name in recordings}
        for sidecar in sidecars.values():
            wait_for(sidecar.judged)
        yield sidecars


@contextmanager
def scraped(folder: Path, sidecars: Mapping[str, InProcess], gone: str = "") -> Iterator[Prometheus]:
    """A Prometheus that has every target twice, as a pair of them would; one target may have gone."""
    blocks = Blocks()
    for name, sidecar in sidecars.items():
        end = GONE if name == gone else END
        for replica in ("a", "b"):
            target = {"instance": f"{name}:9747", "cluster": "eu", "prometheus_replica": replica}
            blocks.add(sidecar.get("/metrics").text, [end - 30, end - 15, end], None, **target)
    folder.mkdir()
    with or_give_up(prometheus.running(folder, [], data=blocks.write(folder))) as running:
        yield running


def reading(url: str, progress: Progress | None = None, **options: Any) -> FleetReport:
    rules = Rulebook(builtin_directory()).rule_set
    return asyncio.run(read(ReadingOptions(url, at=END, **options), rules, progress or Progress()))


def compare(report: FleetReport, sidecars: Mapping[str, InProcess]) -> int:
    """Hold a report to what each sidecar says, and return how many findings were compared."""
    servers = {server.name: server for server in report.servers}
    assert set(servers) == {f"eu/{name}" for name in sidecars}
    assert {server.source for server in report.servers} == {Source.VERDICT}
    assert (report.not_asked, report.vanished, report.warnings) == ((), (), ())
    compared = 0
    for name, sidecar in sidecars.items():
        advice = Advice.model_validate(sidecar.get("/advise", headers={"Accept": "application/json"}).json())
        findings = [finding for finding in report.findings if finding.server == f"eu/{name}"]
        assert {finding.fingerprint: reports.essence(finding) for finding in findings} == {
            recommendation.fingerprint: reports.essence(recommendation) for recommendation in advice.recommendations
        }, name
        assert all(finding.page_url and finding.page_url.endswith(finding.fingerprint) for finding in findings)
        blind, failed = ({verdict.rule for verdict in verdicts} for verdicts in (advice.blind, advice.failed))
        assert set(servers[f"eu/{name}"].undecided) == blind | failed, name
        assert advice.server.endswith(servers[f"eu/{name}"].version or "unknown")
        compared += len(findings)
    return compared


def test_a_fleet_says_what_each_sidecar_says(tmp_path: Path) -> None:
    with watching(FEW) as sidecars, scraped(tmp_path / "all", sidecars) as asked:
        progress = Progress()
        assert compare(reading(asked.url, progress), sidecars) >= 2
        assert progress.queries == {"answered": 11}
        managed = reading(asked.url, services=(('cluster="eu"', "rds"),))
        assert {change.via for finding in managed.findings for change in finding.changes} == {
            "DB parameter group (Amazon RDS)"
        }
        one = reading(asked.url, server=f"eu/{name_of(FEW[0])}")
        assert {finding.server for finding in one.findings} == {f"eu/{name_of(FEW[0])}"}
        assert reading(asked.url, selector='cluster="us"').servers == ()
        # A pair of Prometheus is no two servers, as above; three instances are.
        merged = reading(asked.url, identity=Identity(("cluster",)))
        assert ([server.name for server in merged.servers], merged.findings) == (["eu"], ())
        assert ["identity is not unique" in group.reason for group in merged.not_asked] == [True]
        gone = name_of(FEW[0])
        with scraped(tmp_path / "gone", sidecars, gone) as later:
            left = reading(later.url)
        assert [(gone.server, gone.at) for gone in left.vanished] == [(f"eu/{gone}", GONE)]
        assert f"eu/{gone}" not in {server.name for server in left.servers}
        assert not any(finding.server == f"eu/{gone}" for finding in left.findings)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(CAPTURES), AT_ONCE), ids=lambda first: name_of(CAPTURES[first]))
def test_a_fleet_says_what_every_recorded_server_says(tmp_path: Path, first: int) -> None:
    with watching(CAPTURES[first : first + AT_ONCE]) as sidecars, scraped(tmp_path / "all", sidecars) as asked:
        compare(reading(asked.url), sidecars)
