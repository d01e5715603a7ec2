"""A behaviour that no model answers for is named where the window shows the work that it concerns."""

from __future__ import annotations

import pytest

from advisor.upgrade.behaviours import CHANGES, behaviours
from exporter.knowledge import BEHAVIOURS
from tests.advisor.upgrade.upgrades import said, upgrade_of


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
