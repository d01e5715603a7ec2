"""The temporary files of index builds before and after parallel builds."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.contract.upgrade import Cause
from advisor.upgrade.index_builds import index_builds
from tests.advisor.upgrade.upgrades import not_foretold, said, upgrade_of

BUFFER, THREADS = "innodb_ddl_buffer_size", "innodb_parallel_read_threads"
SERIAL: dict[str, Any] = {
    "version": "8.0.26",
    "settings": {BUFFER: None, "innodb_ddl_threads": None, "innodb_sort_buffer_size": 1048576},
}
BUILDS = "mysql-9.7/index-builds"
"""Builds of an index of 51 MB of entries, 400,000 of them."""


def test_a_build_is_said_with_both_sorts_and_a_buffer_that_leaves_one_merge() -> None:
    effect = said(index_builds, upgrade_of(BUILDS, "8.4", **SERIAL))["parallel_ddl"]
    assert effect.cause == Cause.BEHAVIOUR
    assert effect.now == pytest.approx(352e6, rel=0.05)  # 5.6.24 wrote so much for as many entries of CHAR(120)
    assert effect.predicted == pytest.approx(393e6, rel=0.05)  # 9.7.4, docs/rules/ddl-buffer-starved.md
    assert effect.better is None
    assert [line.line for line in effect.keep] == [f"{BUFFER} = 67108864"]
    assert effect.subject["index"]


def test_a_larger_sort_buffer_was_better() -> None:
    altered = SERIAL | {"settings": SERIAL["settings"] | {"innodb_sort_buffer_size": 67108864}}
    effect = said(index_builds, upgrade_of(BUILDS, "8.4", **altered))["parallel_ddl"]
    assert (effect.now, effect.better) == (67108864, False)


def test_other_reader_threads_share_the_buffer_in_other_parts() -> None:
    altered = {"version": "8.0.30", "machine": {"cores": 64, "cores_source": "cpu affinity"}}
    effect = said(index_builds, upgrade_of(BUILDS, "8.4", **altered))[THREADS]
    assert effect.cause == Cause.DEFAULT
    assert f"{effect.predicted:.0f}" != f"{effect.now:.0f}"


def test_the_new_default_may_not_be_known() -> None:
    altered = SERIAL | {"machine": {"cores": None}}
    [unknown] = not_foretold(index_builds, upgrade_of(BUILDS, "8.4", **altered))
    assert THREADS in unknown.reason


@pytest.mark.parametrize(
    ("recording", "to", "altered"),
    [
        ("mysql-8.0/index-builds", "8.4", {}),  # the same sort, with the same settings
        ("mysql-9.7/small-index-builds", "8.4", SERIAL),
        ("mysql-9.7/repeated-scan", "8.4", SERIAL),
        ("mysql-9.7/index-builds", "8.0.25", {"version": "8.0.20"}),
        ("mariadb-10.11/counted-without-index", "11.8", {}),
        ("mysql-5.6/idle", "8.4", {}),
    ],
)
def test_nothing_is_said_where_no_build_changes(recording: str, to: str, altered: dict[str, Any]) -> None:
    assert list(index_builds(upgrade_of(recording, to, **altered))) == []
