"""What the LRU model's rules advise holds with dirty pages in the pool.

By hand, with `pytest -m long`, on an idle machine: a page cleaner without a core leaves half of the list's tail dirty,
and the model then says that no value holds the table.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from advisor.advice import evaluation
from advisor.casetest.execution import BUDGET_SECONDS
from advisor.contract.recommendation import Recommendation
from lab.harness.measure import pages_read
from lab.harness.watch import observed_window, rules
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, make_table, scan
from lab.servers import PrivateServer
from lab.servers.sql import execute

RULE = "scan-exceeds-old-sublist"
PAGES = 737
"""Of 64 KiB. An old sublist of 774 pages, at 52 %, holds them only if no page at its tail is dirty."""
PAUSE = 1.1
Start = Callable[..., PrivateServer]


def advised(server: PrivateServer, work: Callable[[], None], times: int) -> list[Recommendation]:
    patient = [rule.with_budget(BUDGET_SECONDS) for rule in rules() if rule.id == RULE]
    return list(evaluation.advise(patient, observed_window(server, work, times), beside=rules()).recommendations)


@pytest.mark.long
def test_the_advised_value_holds_the_table_although_pages_at_the_tail_are_dirty(start_server: Start) -> None:
    server = start_server(
        "mariadb-10.5",
        **{
            "innodb-page-size": "64k",
            "innodb-buffer-pool-size": "96M",
            "innodb-flush-method": "O_DIRECT",
            "performance-schema": "ON",
        },
    )
    chooser = random.Random(1)  # noqa: S311 - a workload
    with server.connect() as connection, connection.cursor() as cursor:
        for table, pages in (("orders", PAGES), ("archive", 1_250), ("items", 300)):
            make_table(connection, table, 4 * pages)  # it counts pages of 16 KiB

        def one_round() -> None:
            scan(connection, "orders")
            for _ in range(40):
                row = chooser.randint(1, 300 * 4 * ROWS_PER_PAGE)
                cursor.execute(f"UPDATE {SCHEMA}.items SET filler = REPEAT('y', 1830) WHERE id = {row}")
            connection.commit()
            time.sleep(PAUSE)

        scan(connection, "archive")
        for _ in range(3):
            one_round()
        [recommendation] = advised(server, one_round, 3)
        assert recommendation.effect is not None
        assert recommendation.effect.now is not None
        assert recommendation.effect.error is not None
        assert recommendation.effect.now > 0.9 * PAGES
        execute(server, recommendation.changes[0].apply[0])
        for _ in range(2):
            one_round()
        read = []
        for _ in range(3):
            before = pages_read(server)
            scan(connection, "orders")
            read.append(pages_read(server) - before)
            one_round()
        assert max(read) <= recommendation.effect.predicted + recommendation.effect.error * recommendation.effect.now
