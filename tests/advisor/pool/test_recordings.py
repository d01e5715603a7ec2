"""Curves of real recordings: bounds in order or the reason why there are none; TPC-C's hold what was measured."""

from __future__ import annotations

import gzip
import math
from itertools import pairwise
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from advisor.observe.source import Replay
from advisor.pool.curve import TIMES, ExpectedReads
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from advisor.render import curve_svg, models
from advisor.render import text as plain
from tests.advisor.building import capture, captured

ANSWERED = (
    "mysql-5.6/idle",
    "mysql-5.7/idle",
    "mysql-8.0/idle",
    "mysql-9.7/idle",
    "mysql-9.7/outdated-statistics",  # lookups that read nothing, or none at all
    "mysql-9.7/outdated-statistics-followed",
    "mysql-9.7/secondary-scan",
    "mysql-8.0/outdated-statistics",
    "mysql-8.0/secondary-scan",
    "mariadb-11.8/outdated-statistics",
    "mariadb-11.8/emptied-file",
)


RESIZED = ("mysql-9.7/tpcc-little-pool", "mysql-8.0/tpcc-little-pool", "mysql-9.7/tpcc-transactions")
"""With the reads that were measured beside them after the pool was resized."""


def ordered(reads: ExpectedReads) -> bool:
    return 0.0 <= reads.low <= reads.expected <= reads.high < math.inf


@pytest.mark.parametrize("name", ANSWERED)
def test_a_curve_has_its_bounds_in_order_and_is_shown_in_every_form(name: str) -> None:
    miss_curve = curve(captured(name).snapshots, math.inf)
    assert [size.times for size in miss_curve.sizes] == list(TIMES)
    assert all(before.bytes < after.bytes for before, after in pairwise(miss_curve.sizes))
    for size in miss_curve.sizes:
        assert ordered(size.pages_read_per_second), size
        assert [table for table in size.tables if not ordered(table.pages_read_per_second)] == []
    [today] = [size.pages_read_per_second for size in miss_curve.sizes if size.times == 1.0]
    assert today.low == today.high == miss_curve.pages_read_per_second
    assert "today" in plain.text(models.curve(miss_curve.tidied()))
    assert "nan" not in curve_svg.svg(miss_curve.tidied())


@pytest.mark.parametrize("name", RESIZED)
def test_the_reads_measured_with_other_pools_are_within_the_bounds_of_the_curve(name: str) -> None:
    recording = capture(name)
    measured = {
        int(size.removesuffix("M")) << 20: share
        for size, share in YAML(typ="safe").load(recording.with_name("note.yaml"))["measured"].items()
    }
    snapshots = captured(name).snapshots
    pool_bytes = int(snapshots[-1].setting("innodb_buffer_pool_size") or 0)
    miss_curve = curve(snapshots, math.inf, [size / pool_bytes for size in measured])
    shares = {
        size.bytes: tuple(
            reads / miss_curve.pages_read_per_second
            for reads in (size.pages_read_per_second.low, size.pages_read_per_second.high)
        )
        for size in miss_curve.sizes
    }
    assert [
        (size, share, shares[size])
        for size, share in measured.items()
        if not shares[size][0] <= share <= shares[size][1]
    ] == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mysql-9.7/unprivileged", "GRANT PROCESS ON"),
        ("mariadb-11.8/idle", "performance_schema is OFF"),
    ],
)
def test_a_recording_without_the_sources_says_which(name: str, why: str) -> None:
    with pytest.raises(Unanswerable, match=why):
        curve(captured(name).snapshots, math.inf)


def test_evidence_that_contradicts_itself_has_an_answer(tmp_path: Path) -> None:
    text = gzip.decompress(capture("mysql-9.7/repeated-scan").read_bytes()).decode()
    recording = tmp_path / "recording.jsonl"
    recording.write_text(text.replace('"orders"', '"renamed"'))  # and its file is not
    miss_curve = curve(Replay(recording).history, math.inf)
    assert all(ordered(size.pages_read_per_second) for size in miss_curve.sizes)
