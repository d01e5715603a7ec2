"""Memory after an upgrade: what the server allocates, what it may take, and what it gives back."""

from __future__ import annotations

import pytest

from advisor.upgrade.memory import memory
from tests.advisor.upgrade.upgrades import not_foretold, said, upgrade_of

WRITES = "mysql-8.0/write-pressure"
MIB = 2**20


def test_the_log_buffer_is_allocated_at_the_start_and_the_temporary_tables_limit_is_none_of_that() -> None:
    effects = said(memory, upgrade_of(WRITES, "8.4", status={"innodb_log_waits": {"per_second": 1}}))
    buffer = effects["innodb_log_buffer_size"]
    assert (buffer.now, buffer.predicted, buffer.low, buffer.high) == (16 * MIB, 64 * MIB, 64 * MIB, 64 * MIB)
    assert buffer.better is True  # the log buffer was waited for
    assert said(memory, upgrade_of("mysql-8.0/idle", "8.4"))["innodb_log_buffer_size"].better is None
    limits = said(memory, upgrade_of("mysql-5.6/idle", "8.0"))
    assert (limits["temptable_max_ram"].low, limits["temptable_max_ram"].predicted) == (0, 2**30)


def test_temporary_tables_that_move_into_the_pool_are_named_with_how_to_see_them() -> None:
    altered = {"settings": {"temptable_max_ram": 2**30, "temptable_max_mmap": 2**30}}
    [unknown] = not_foretold(memory, upgrade_of(WRITES, "8.4", **altered))
    assert "memory/temptable/physical_disk" in str(unknown.cure)


def test_searches_by_the_adaptive_hash_index_descend_the_tree_without_it() -> None:
    effect = said(memory, upgrade_of("mysql-8.0/tpcc-little-pool", "8.4"))["innodb_adaptive_hash_index"]
    assert (effect.from_, effect.to, effect.quantity, effect.better) == ("ON", "OFF", None, None)
    assert "no more reads" in effect.summary
    assert "innodb_adaptive_hash_index" not in said(memory, upgrade_of("mysql-8.0/idle", "8.4"))


@pytest.mark.parametrize(
    ("recording", "to", "speaks"),
    [
        ("mysql-8.0/repeated-scan", "8.4", True),
        ("mysql-8.0/idle", "8.4", False),
        ("mariadb-10.5/repeated-scan", "10.11", True),
        ("mariadb-10.11/repeated-scan", "11.8", False),
    ],
)
def test_reads_that_leave_the_page_cache_are_named_where_there_are_any(
    recording: str, to: str, *, speaks: bool
) -> None:
    effects = said(memory, upgrade_of(recording, to, machine={"filesystem": "ext4"}))
    assert ("innodb_flush_method" in effects) is speaks
    if speaks:
        assert effects["innodb_flush_method"].quantity is None
