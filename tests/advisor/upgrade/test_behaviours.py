"""A behaviour that no model answers for is named where the window shows the work that it concerns."""

from __future__ import annotations

import pytest

from advisor.upgrade.behaviours import CHANGES, behaviours, plans
from exporter.knowledge import BEHAVIOURS
from tests.advisor.upgrade.upgrades import said, upgrade_of

SCAN = "mysql-5.6/repeated-scan"


@pytest.mark.parametrize(
    ("recording", "version", "to", "names"),
    [
        ("mariadb-10.5/repeated-scan", "10.5.20-MariaDB", "10.6.24", {"linear_read_ahead_broken"}),
        ("mariadb-10.5/repeated-scan", "10.5.23-MariaDB", "10.6.24", set()),
        ("mariadb-10.11/idle", "10.11.5-MariaDB", "10.11.8", {"memory_pressure_shrinks_pool"}),
        ("mariadb-10.11/idle", "10.11.8-MariaDB", "10.11.18", set()),
        ("mariadb-10.11/write-pressure", "10.11.14-MariaDB", "10.11.18", {"log_bound_flushing_excessive"}),
        ("mariadb-10.11/change-buffer-merges", "10.11.14-MariaDB", "10.11.18", {"purge_rewrites_inserts"}),
        ("mariadb-10.5/change-buffer-merges", "10.5.23-MariaDB", "10.6.24", {"free_list_kept"}),
        ("mysql-5.7/change-buffer-merges", "5.7.44", "8.0.43", {"doublewrite_files"}),
        ("mysql-5.7/idle", "5.7.44", "8.0.43", set()),
    ],
)
def test_what_concerns_the_workload_is_said(recording: str, version: str, to: str, names: set[str]) -> None:
    upgrade = upgrade_of(recording, to, version=version)
    effects = said(behaviours, upgrade)
    assert set(effects) == names
    assert all(effect.quantity is None and effect.evidence and effect.references for effect in effects.values())


def test_every_change_is_of_a_known_behaviour() -> None:
    assert {change.name for change in CHANGES} <= BEHAVIOURS.keys()


@pytest.mark.parametrize(
    ("capture", "to", "of"),
    [
        (SCAN, "5.7.44", "(a, b) IN"),
        ("mysql-5.7/repeated-scan", "9.7.4", "inner table once"),
        ("mariadb-10.11/repeated-scan", "11.8.9", "costs are times"),
    ],
)
def test_another_optimizer_may_not_scan_what_is_scanned(capture: str, to: str, of: str) -> None:
    [said] = plans(upgrade_of(capture, to))
    assert said.what.startswith("whether statements still scan shop.orders")
    assert of in said.reason


@pytest.mark.parametrize(("capture", "to"), [("mysql-8.0/repeated-scan", "9.7.4"), ("mysql-5.6/idle", "9.7.4")])
def test_nothing_is_said_of_the_same_optimizer_or_without_a_scan(capture: str, to: str) -> None:
    assert list(plans(upgrade_of(capture, to))) == []
