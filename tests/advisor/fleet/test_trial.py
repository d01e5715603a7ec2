"""The rules on every recording, cut down to what series tell: no other finding, and no silence where there is one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import pytest

from advisor.contract.fleet import FleetFinding, Source
from advisor.contract.recommendation import Recommendation
from advisor.fleet.judging import JudgedServer, judge
from advisor.observe.window import Window
from advisor.rules import check
from tests.advisor.building import REPOSITORY, RULES_FOLDER, captured
from tests.advisor.fleet import reports, sources

CAPTURES = REPOSITORY / "tests" / "captures"
SAMPLE = (
    "mysql-9.7/repeated-scan",
    "mysql-9.7/secondary-scan",
    "mysql-9.7/parallel-count",
    "mysql-9.7/index-builds",
    "mysql-9.7/counted-without-index",
    "mysql-9.7/hot-set-exceeds-pool",
    "mysql-9.7/outdated-statistics",
    "mariadb-11.8/outdated-statistics",
    "mariadb-10.11/write-pressure",
    "mysql-5.6/idle",
)
"""Of these one has each lack."""
OF_SIDECARS = ("blind-spot", "change-did-harm", "buffer-pool-larger-than-needed")
"""Rules on what only a sidecar knows: its own sources, its advice, its days."""

FINDINGS = {
    "mariadb-10.11": (6, 6, 1),
    "mariadb-10.5": (3, 3, 2),
    "mariadb-11.8": (3, 1, 3),
    "mysql-5.6": (16, 12, 11),
    "mysql-5.7": (2, 2, 2),
    "mysql-8.0": (30, 14, 22),
    "mysql-9.7": (40, 31, 30),
}
"""By server: the findings of its recordings, those that are kept with the sidecar's series, and with all flags of
mysqld_exporter."""
BY_DEFAULT = {"mariadb-10.5": 1, "mysql-5.6": 1, "mysql-9.7": 1}
"""By server, the findings that mysqld_exporter's default flags keep."""
MOVED = {
    (Source.MYSQLD_EXPORTER, "buffer-pool-too-small", capture): ratio
    for capture, ratio in {
        "mariadb-10.11/write-pressure": 1.006,
        "mysql-5.6/change-buffer-merges": 1.147,
        "mysql-5.6/change-buffer-off": 1.042,
        "mysql-5.6/change-buffer-off-lookups": 1.043,
        "mysql-5.6/change-buffer-single-merges": 1.043,
        "mysql-5.6/hot-set-exceeds-pool": 1.030,
        "mysql-8.0/hot-set-exceeds-pool": 0.9,
        "mysql-8.0/random-ranges": 0.917,
        "mysql-8.0/tpcc-little-pool": 1.25,
        "mysql-9.7/change-buffer-small": 1.333,
        "mysql-9.7/hot-set-exceeds-pool": 0.9,
        "mysql-9.7/random-ranges": 0.917,
        "mysql-9.7/tpcc-little-pool": 1.25,
        "mysql-9.7/tpcc-transactions": 1.5,
    }.items()
} | {(Source.SIDECAR, "scan-exceeds-buffer-pool", "mysql-9.7/tpch-reports"): 1.083}
"""Of these the ones with another value, by its ratio: mysqld_exporter does not tell what the pool holds of each table,
and tells all pages of a table, of which 4,001 of 4,069 are leaves."""
SILENT = (("mysql-8.0/change-buffer-larger", ("buffer-pool-too-small", ())),)
"""Findings that mysqld_exporter's series neither keep nor are blind to. They do not tell what the pool holds of the
table: the high end with a larger pool is 61 % of today's reads, and above half the rule is silent."""
SAME = 57
"""Findings that mysqld_exporter keeps with the same value, at least: the rest are blind and say what they lack."""

Finding = tuple[str, tuple[tuple[str, str], ...]]
"""Rule and subject."""
Cut = Callable[[Window], Window]


@dataclass
class Trial:
    """What became of the findings of recordings with everything.

    Attributes:
        kept: With the same changes.
        moved: With other values of the same settings: the ratio of the first one.
        blind: Rule and what it lacks, with their number.
        wrong: Findings that are new, and silences instead of a finding.
    """

    kept: Counter[str] = field(default_factory=Counter)
    moved: dict[tuple[str, str], float] = field(default_factory=dict)
    blind: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[tuple[str, Finding]] = field(default_factory=list)

    @property
    def all(self) -> int:
        """The findings with everything."""
        return self.kept.total() + len(self.moved) + self.blind.total()

    def take(self, capture: str, judged: JudgedServer) -> None:
        known, findings = with_everything(capture), by_subject(judged.findings)
        self.wrong += [(capture, finding) for finding in findings if finding not in known]
        for finding, before in known.items():
            rule = finding[0]
            if finding in findings:
                ratios = [
                    float(is_) / float(was) for is_, was in zip(findings[finding], before, strict=True) if is_ != was
                ]
                if ratios:
                    self.moved[rule, capture] = ratios[0]
                else:
                    self.kept[rule] += 1
            elif rule in judged.undecided:
                lacks = {lack.lacks for lack in judged.blind if lack.rule == rule and lack.cure}
                self.blind[rule, ", ".join(sorted(lacks))] += 1
            else:
                self.wrong.append((capture, finding))


@cache
def rules() -> tuple[check.Rule, ...]:
    return tuple(rule for rule in check.load(RULES_FOLDER) if rule.id not in OF_SIDECARS)


def recordings() -> Iterator[str]:
    """The names of all recordings."""
    for path in sorted(CAPTURES.glob("*/*/recording.jsonl.gz")):
        yield str(path.parent.relative_to(CAPTURES))


@cache
def with_everything(capture: str) -> Mapping[Finding, tuple[float | str, ...]]:
    recommendations = reports.advice(capture).recommendations
    return by_subject(recommendation for recommendation in recommendations if recommendation.rule not in OF_SIDECARS)


def by_subject(findings: Iterable[Recommendation | FleetFinding]) -> Mapping[Finding, tuple[float | str, ...]]:
    return {
        (finding.rule, tuple(sorted(finding.subject.items()))): tuple(to.to for to in finding.changes)
        for finding in findings
    }


def tried(captures: tuple[str, ...], source: Source, cut: Cut) -> Trial:
    trial = Trial()
    for capture in captures:
        window = cut(captured(capture))
        judged = judge(rules(), window, source)
        if judged.waiting:
            judged = judge(rules(), window, source, before=judged, seconds=math.inf)
        trial.take(capture, judged)
    return trial


def test_series_make_no_finding_and_no_silence_of_their_own() -> None:
    """A sample; the whole is below."""
    own = tried(SAMPLE, Source.SIDECAR, sources.sidecar)
    peer = tried(SAMPLE, Source.MYSQLD_EXPORTER, sources.mysqld_exporter)
    assert own.wrong == peer.wrong == []
    assert own.moved == {}
    assert peer.moved == pytest.approx(
        {
            (rule, capture): ratio
            for (source, rule, capture), ratio in MOVED.items()
            if source is Source.MYSQLD_EXPORTER and capture in SAMPLE
        },
        abs=0.005,
    )
    kept_by_both = {
        "scan-exceeds-old-sublist": 1,
        "count-parallel-never-promotes": 1,
    }
    assert own.kept == {
        **kept_by_both,
        "count-has-no-small-index": 1,
        "buffer-pool-too-small": 2,
        "ddl-buffer-starved": 1,
        "io-capacity-not-for-ssd": 1,
    }
    assert own.blind == {
        ("scan-exceeds-old-sublist", "scan.passes"): 1,
        ("statistics-outdated", "statistic.least_pages"): 2,
    }
    assert peer.kept == {**kept_by_both, "scan-exceeds-old-sublist": 2, "statistics-outdated": 2}
    assert peer.blind == {
        ("count-has-no-small-index", "counted.key_index_pages"): 1,
        ("ddl-buffer-starved", "ddl"): 1,
        ("io-capacity-not-for-ssd", "machine.storage"): 1,
    }


@pytest.mark.long
@pytest.mark.parametrize("server", FINDINGS)
def test_the_findings_of_all_recordings_are_kept_or_the_rule_says_what_it_lacks(server: str) -> None:
    captures = tuple(recording for recording in recordings() if recording.startswith(f"{server}/"))
    own = tried(captures, Source.SIDECAR, sources.sidecar)
    peer = tried(captures, Source.MYSQLD_EXPORTER, sources.mysqld_exporter)
    default = tried(captures, Source.MYSQLD_EXPORTER, lambda window: sources.mysqld_exporter(window, ()))
    assert own.wrong == default.wrong == []
    assert peer.wrong == [(recording, finding) for recording, finding in SILENT if recording in captures]
    assert (default.kept.total(), default.moved) == (BY_DEFAULT.get(server, 0), {})
    assert (
        own.all,
        own.kept.total() + len(own.moved),
        peer.kept.total() + len(peer.moved),
    ) == FINDINGS[server]
    for source, trial in ((Source.SIDECAR, own), (Source.MYSQLD_EXPORTER, peer)):
        moved = {
            (rule, recording): ratio
            for (of, rule, recording), ratio in MOVED.items()
            if of is source and recording in captures
        }
        assert trial.moved == pytest.approx(moved, abs=0.005)
        assert all(lacks for _, lacks in trial.blind)


def test_mysqld_exporter_keeps_half_of_the_findings_with_the_same_value() -> None:
    """The sums of what the test above holds by server."""
    moved = sum(source is Source.MYSQLD_EXPORTER for source, *_ in MOVED)
    assert sum(count for *_, count in FINDINGS.values()) - moved == SAME


@pytest.mark.parametrize("source", [Source.SIDECAR, Source.MYSQLD_EXPORTER])
def test_what_no_series_tell_of_change_buffering_is_said(source: Source) -> None:
    """Rows and their time by index, and which index is unique: no silence where the recording has a finding."""
    cut = sources.sidecar if source is Source.SIDECAR else sources.mysqld_exporter
    [rule] = [rule for rule in rules() if rule.id == "change-buffering-would-help"]
    judged = judge([rule], cut(captured("mysql-9.7/change-buffer-off")), source)
    assert (judged.findings, judged.undecided) == ((), (rule.id,))
    assert [lack.lacks for lack in judged.blind] == ["table_io" if source is Source.SIDECAR else "indexes"]
    assert not judged.wants_tables


def test_the_page_tells_the_findings_that_each_source_keeps() -> None:
    page = (REPOSITORY / "docs" / "fleet.md").read_text(encoding="utf-8")
    counted = {server: (*counts, BY_DEFAULT.get(server, 0)) for server, counts in FINDINGS.items()}
    counted["all"] = tuple(map(sum, zip(*counted.values(), strict=True)))  # type: ignore[assignment]
    rows = re.findall(r"^\| ((?:mysql|mariadb)-[\d.]+|all) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert {server: tuple(map(int, counts)) for server, *counts in rows} == counted
