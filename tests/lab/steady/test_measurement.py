"""The steady load on a small pool, for some seconds: everything is real but its length."""

from __future__ import annotations

from lab.packages.cache import Unavailable
from lab.steady.measurement import measure
from lab.steady.record import broken
from tests.unavailable import give_up

OPTIONS = {"innodb-buffer-pool-size": "32M", "performance-schema": "OFF"}
"""A blind spot is found at once. In so small a pool, findings on the load depend on what the first passes leave."""


def test_a_finding_comes_once_and_so_does_its_alert() -> None:
    try:
        found = measure(8.0, scraped=1.0, options=OPTIONS, scanned=1_400, hot=350)
    except Unavailable as error:
        give_up(f"a program is unavailable here: {error}")
    assert list(broken(found)) == []
    steady = min(found.findings.values(), key=lambda each: each.first)
    assert (steady.came, steady.missing, steady.alerts) == (1, 0, 1)
