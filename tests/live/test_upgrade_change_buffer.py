"""What the forecast says of changes to secondary indexes, on a server that then has the new version's setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from advisor.contract.upgrade import UpgradeEffect
from advisor.observe.window import Window
from advisor.upgrade.change_buffer import change_buffer
from lab.harness.measure import WRITTEN, measure
from lab.proofs import insert_load
from lab.servers import PrivateServer
from lab.servers.sql import execute
from tests.advisor.upgrade.upgrades import upgrade_of

ROWS = 3_000
OPTIONS = insert_load.PREPARING | insert_load.BUFFERED | insert_load.RARELY_MERGED | {"innodb-lru-scan-depth": "100"}
"""By default the page cleaner would keep more pages free than this pool has: how many leaf pages stay would depend on
the machine's speed."""
AS_OF_8_0: dict[str, Any] = {"version": "8.0.43", "settings": {"innodb_change_buffer_max_size": 25}}


@pytest.mark.parametrize(
    ("name", "options", "altered", "to"),
    [
        ("mysql-9.7", {"innodb-change-buffer-max-size": "25"}, AS_OF_8_0, "8.4"),
        ("mysql-5.6", {}, {}, "8.4"),
        ("mariadb-10.11", {}, {}, "11.8"),
    ],
)
def test_a_row_reads_as_many_pages_without_buffering_as_was_foretold(
    start_server: Callable[..., PrivateServer], name: str, options: dict[str, str], altered: dict[str, Any], to: str
) -> None:
    server = start_server(name, **(OPTIONS | options))
    insert_load.prepare(server)
    insert_load.fill(server)
    snapshots, row = insert_load.observe(server, 300, least_rows=ROWS)
    upgrade = upgrade_of(Window(snapshots), to, **altered)
    reads, writes, *_ = [effect for effect in change_buffer(upgrade) if isinstance(effect, UpgradeEffect)]
    assert reads.predicted is not None
    assert writes.low is not None
    assert writes.high is not None
    execute(server, "SET GLOBAL innodb_change_buffering = 'none'")
    insert_load.insert(server, ROWS)
    counters = insert_load.COUNTED | WRITTEN
    then = measure(server, lambda: insert_load.insert(server, ROWS), 2, counters=counters, pieces=ROWS)
    # All pages read then are for changes: rows come at the end of the table, and the buffer's own pages are gone.
    assert reads.predicted / row["rate"] == pytest.approx(then["pages"], rel=0.2)
    assert writes.low <= then["written"] * row["rate"] <= writes.high
