from __future__ import annotations

import pytest

from advisor.upgrade.plans import plans
from tests.advisor.building import captured
from tests.advisor.upgrade.test_scans import upgrade_of

SCAN = "mysql-5.6/repeated-scan"


@pytest.mark.parametrize(
    ("capture", "to", "of"),
    [
        (SCAN, "5.7.44", "(a, b) IN"),
        ("mysql-5.7/repeated-scan", "9.7.4", "inner table once"),
        ("mariadb-10.11/repeated-scan", "11.8.9", "costs are times"),
    ],
)
def test_another_optimizer_may_not_scan_what_is_scanned(capture: str, to: str, of: str) -> None:
    [said] = plans(upgrade_of(captured(capture), to))
    assert said.what.startswith("whether statements still scan shop.orders")
    assert of in said.reason


@pytest.mark.parametrize(("capture", "to"), [("mysql-8.0/repeated-scan", "9.7.4"), ("mysql-5.6/idle", "9.7.4")])
def test_nothing_is_said_of_the_same_optimizer_or_without_a_scan(capture: str, to: str) -> None:
    assert list(plans(upgrade_of(captured(capture), to))) == []
