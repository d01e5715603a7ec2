"""Verdicts of sidecars in a real Prometheus, beside what each sidecar says of itself."""

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
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions, read
from advisor.rules.rulebook import Rulebook, builtin_directory
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from tests.advisor.building import REPOSITORY, capture
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


def essence(found: Recommendation | FleetFinding) -> tuple[Any, ...]:
    """What both must say alike: the last item is the SQL."""
    saved = (
        found.read_bytes_saved_per_second
        if isinstance(found, FleetFinding)
        else found.effect and found.effect.read_bytes_saved_per_second
    )
    return found.rule, found.severity, dict(found.subject), found.confidence, saved, found.changes


def compare(report: FleetReport, sidecars: Mapping[str, InProcess]) -> int:
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
    with watching(FEW) as sidecars, scraped(tmp_path / "all", sidecars) as asked:
        progress = Progress()
        assert compare(reading(asked.url, progress), sidecars) >= 2
        assert progress.queries == {"answered": 11}
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
        gone = name_of(FEW[0])
        with scraped(tmp_path / "gone", sidecars, gone) as later:
            left = reading(later.url)
        assert [(each.server, each.at) for each in left.vanished] == [(f"eu/{gone}", GONE)]
        assert f"eu/{gone}" not in {each.name for each in left.servers}
        assert not any(each.server == f"eu/{gone}" for each in left.findings)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(CAPTURES), AT_ONCE), ids=lambda first: name_of(CAPTURES[first]))
def test_a_fleet_says_what_every_recorded_server_says(tmp_path: Path, first: int) -> None:
    with watching(CAPTURES[first : first + AT_ONCE]) as sidecars, scraped(tmp_path / "all", sidecars) as asked:
        compare(reading(asked.url), sidecars)
