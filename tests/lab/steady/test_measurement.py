"""The steady load on an eighth of the pool, for some seconds: everything is real but its length."""

from __future__ import annotations

import pytest

from lab import demo
from lab.packages.cache import Unavailable
from lab.steady.measurement import measure
from lab.steady.record import broken
from tests.unavailable import give_up

FINDING = "scan-exceeds-old-sublist shop.orders"


EIGHTH = {"innodb-buffer-pool-size": "32M", "innodb-lru-scan-depth": "128"}
"""Of the demo's pool, and of the pages that its page cleaner keeps free: these are no part of what a table may take."""


@pytest.mark.timeout(300)
def test_a_finding_comes_once_and_so_does_its_alert() -> None:
    try:
        found = measure(3.0, scraped=1.0, options=EIGHTH, scanned=demo.SCANNED_PAGES // 8, hot=demo.HOT_PAGES // 8)
    except Unavailable as error:
        give_up(f"a program is unavailable here: {error}")
    assert list(broken(found)) == []
    steady = found.findings[FINDING]
    assert (steady.came, steady.missing, steady.alerts) == (1, 0, 1)
    assert steady.polls >= 2
