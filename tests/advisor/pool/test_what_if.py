"""What-if has an answer for each setting of the model, and refuses everything else clearly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from advisor.contract.settings import SettingValue
from advisor.observe.window import Window
from advisor.pool.errors import Refused
from advisor.pool.what_if import WhatIf, what_if
from advisor.render import models
from advisor.render.blocks import Paragraph
from tests.advisor.building import captured, pool, scanned, server, variables

MIB = 2**20


def asked(name: str, **changes: SettingValue) -> WhatIf:
    return what_if(captured(name), changes)


def refused(window: Window, **changes: SettingValue) -> str:
    with pytest.raises(Refused) as caught:
        what_if(window, changes)
    return str(caught.value)


def test_a_larger_old_sublist_holds_the_table_from_the_second_pass_on() -> None:
    answer = asked("mysql-9.7/repeated-scan", innodb_old_blocks_pct=80)
    [table] = answer.tables
    assert (table.subject, table.pages) == ({"schema": "shop", "table": "orders"}, 9_258)
    assert table.measured_pages_read_per_pass == pytest.approx(table.pages_read_per_pass.now, rel=0.01)
    assert (table.pages_read_per_pass.then, table.passes_until_cached) == (0, 1)
    assert table.pages_read_per_second.now == pytest.approx(
        table.pages_read_per_pass.now * table.passes_per_hour / 3600, rel=0.01
    )
    # Hardly anything else is read, so that the model has no accesses that would explain it: it stays.
    others = answer.other_pages_read_per_second
    assert others.now == others.then < 10
    assert answer.pages_read_per_second.now == pytest.approx(table.pages_read_per_second.now + others.now, abs=1)
    assert answer.pages_read_per_second.then == others.then
    assert answer.pages_of_others.then == pytest.approx(16_382 - 9_258, abs=30)
    assert answer.young_pages_of_others.now > answer.young_pages_of_others.then
    [change] = answer.changes
    assert change.apply == ("SET GLOBAL innodb_old_blocks_pct = 80",)
    assert (change.from_, change.to, answer.confidence) == (37, 80, 1.0)
    assert answer.error < 0.02


def test_an_old_sublist_that_is_too_small_changes_nothing() -> None:
    [table] = asked("mysql-9.7/repeated-scan", innodb_old_blocks_pct=50).tables
    assert table.pages_read_per_pass.then == pytest.approx(table.pages_read_per_pass.now, rel=0.01)
    assert table.passes_until_cached is None


def test_a_change_to_the_present_value_changes_nothing() -> None:
    for name in ("mysql-9.7/repeated-scan", "mysql-9.7/repeated-scan-followed", "mariadb-10.11/repeated-scan"):
        pct = 80 if "followed" in name else 37
        answer = asked(name, innodb_old_blocks_pct=pct)
        assert answer.pages_read_per_second.then == pytest.approx(answer.pages_read_per_second.now, abs=5), name


def test_a_table_stays_cached_after_a_rollback() -> None:
    # As the server does: nothing evicts the table any more (tests/live/test_whatif.py).
    [table] = asked("mysql-9.7/repeated-scan-followed", innodb_old_blocks_pct=37).tables
    assert (table.pages_read_per_pass.then, table.passes_until_cached) == (0, 0)


def test_a_larger_pool_has_free_pages_for_the_table() -> None:
    answer = asked("mysql-9.7/repeated-scan", innodb_buffer_pool_size="400M")
    assert answer.changes[0].to == 512 * MIB
    assert answer.tables[0].pages_read_per_pass.then == 0
    assert answer.notes[0].startswith("this server makes 512 MiB of innodb_buffer_pool_size = 400M")


def test_a_size_of_whole_chunks_is_taken_as_it_is() -> None:
    answer = asked("mysql-9.7/repeated-scan", innodb_buffer_pool_size="512M")
    assert not [note for note in answer.notes if "this server makes" in note]


def test_a_server_without_chunks_takes_whole_mebibytes_and_beyond_its_maximum_a_restart() -> None:
    answer = asked("mariadb-10.11/repeated-scan", innodb_buffer_pool_size=200 * MIB + 1)
    assert answer.changes[0].to == 200 * MIB
    assert answer.changes[0].apply
    beyond = asked("mariadb-10.11/repeated-scan", innodb_buffer_pool_size="9T")
    assert (beyond.changes[0].dynamic, beyond.changes[0].apply) == (False, ())


def test_chunks_are_counted_in_each_instance() -> None:
    settings = variables(innodb_buffer_pool_size=str(256 * MIB), innodb_buffer_pool_chunk_size=str(64 * MIB))
    pools = tuple(pool(pool=n, size_pages=8_191, database_pages=8_191, old_pages=3_000) for n in range(2))
    window = Window(tuple(scanned(10.0 * n, n, 11_400 * n, pools=pools, variables=settings) for n in range(3)))
    assert what_if(window, {"innodb_buffer_pool_size": "257M"}).changes[0].to == 384 * MIB


def test_a_server_that_resizes_only_by_a_restart_gets_no_statement() -> None:
    [change] = asked("mysql-5.6/repeated-scan", innodb_buffer_pool_size="512M").changes
    assert (change.dynamic, change.apply, change.rollback) == (False, (), ())
    assert change.config == "innodb_buffer_pool_size = 536870912"


def test_a_bug_of_the_server_leaves_only_a_restart_and_is_named() -> None:
    window = captured("mariadb-10.11/repeated-scan")
    buggy = server("10.11.13-MariaDB")
    altered = Window(tuple(replace(snapshot, server=buggy) for snapshot in window.snapshots))
    answer = what_if(altered, {"innodb_buffer_pool_size": "32M"})
    [change] = answer.changes
    assert (change.dynamic, change.apply, change.rollback) == (False, (), ())
    assert "MDEV-37263; fixed in 10.11.14" in change.note
    assert Paragraph(change.note) in models.what_if(answer).blocks
    assert what_if(window, {"innodb_buffer_pool_size": "32M"}).changes[0].dynamic


def test_one_reader_thread_lets_counts_promote_their_pages() -> None:
    answer = asked("mysql-9.7/parallel-count", innodb_parallel_read_threads=1, innodb_old_blocks_time=0)
    assert answer.tables[0].pages_read_per_pass.then < 0.02 * answer.tables[0].pages
    alone = asked("mysql-9.7/parallel-count", innodb_old_blocks_time=0)
    assert alone.tables[0].pages_read_per_pass.then == pytest.approx(alone.tables[0].pages_read_per_pass.now, rel=0.01)


def test_the_free_list_of_mariadb_is_part_of_the_answer() -> None:
    answer = asked("mariadb-10.11/repeated-scan", innodb_lru_scan_depth=100)
    assert answer.changes[0].setting == "innodb_lru_scan_depth"


def test_several_changes_go_together() -> None:
    answer = asked("mysql-9.7/repeated-scan", innodb_old_blocks_pct="20", innodb_buffer_pool_size="1G")
    assert [change.setting for change in answer.changes] == ["innodb_old_blocks_pct", "innodb_buffer_pool_size"]


def test_a_server_without_scans_has_an_answer_too() -> None:
    answer = asked("mysql-5.6/idle", innodb_old_blocks_pct=60)
    assert answer.tables == ()
    assert answer.pages_read_per_second.now == answer.pages_read_per_second.then < 1
    assert answer.error < 0.15


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "no setting to change; try innodb_old_blocks_pct=80"),
        ({"innodb_old_blocks_pct": 96}, "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95"),
        ({"innodb_old_blocks_pct": "4"}, "innodb_old_blocks_pct: 4 is not a whole number from 5 to 95"),
        ({"innodb_old_blocks_pct": 37.5}, "innodb_old_blocks_pct: 37.5 is not a whole number from 5 to 95"),
        ({"innodb_old_blocks_pct": "many"}, "innodb_old_blocks_pct: many is not a whole number from 5 to 95"),
        ({"innodb_old_blocks_pct": float("nan")}, "innodb_old_blocks_pct: nan is not a whole number from 5 to 95"),
        ({"innodb_old_blocks_time": -1}, "innodb_old_blocks_time: -1 is not a whole number from 0 to 4294967295"),
        ({"innodb_buffer_pool_size": "1M"}, "innodb_buffer_pool_size: 1M is not a whole number from 5242880 on"),
        ({"innodb_buffer_pool_size": "4X"}, "innodb_buffer_pool_size: 4X is not a whole number from 5242880 on"),
        ({"innodb_parallel_read_threads": 0}, "innodb_parallel_read_threads: 0 is not a whole number from 1 to 256"),
        ({"innodb_old_block_pct": 80}, "unknown setting innodb_old_block_pct; did you mean innodb_old_blocks_pct?"),
        (
            {"sort_buffer_size": "1M"},
            "the model does not answer for sort_buffer_size; it does for innodb_old_blocks_pct",
        ),
        (
            {"innodb_lru_scan_depth": 512},
            "the model does not answer for innodb_lru_scan_depth here: only MariaDB 10.6+",
        ),
    ],
)
def test_an_invalid_change_is_refused_with_the_accepted_values(changes: dict[str, Any], reason: str) -> None:
    assert refused(captured("mysql-9.7/repeated-scan"), **changes).startswith(reason)


def test_a_setting_that_the_server_lacks_is_refused() -> None:
    reason = refused(captured("mariadb-10.11/repeated-scan"), innodb_parallel_read_threads=1)
    assert reason.startswith("mariadb 10.11.18-MariaDB")
    assert reason.endswith(" has no setting innodb_parallel_read_threads")
    assert refused(captured("mysql-5.6/repeated-scan"), innodb_parallel_read_threads=1).startswith("mysql 5.6")


def test_the_json_is_read_back_as_the_same_answer() -> None:
    answer = asked("mysql-9.7/repeated-scan", innodb_old_blocks_pct=80)
    text = answer.model_dump_json(by_alias=True)
    assert WhatIf.model_validate_json(text) == answer
    assert json.loads(text)["changes"][0]["from"] == 37


def test_a_percona_server_is_a_mysql() -> None:
    percona = server("8.0.36-28", "Percona Server (GPL)")
    window = Window(tuple(scanned(10.0 * n, n, 11_400 * n, of=percona) for n in range(3)))
    assert what_if(window, {"innodb_old_blocks_pct": 80}).server == "percona 8.0.36-28"
