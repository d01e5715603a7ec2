"""An index build is seen, and its work is predicted."""

from __future__ import annotations

import pytest

from advisor import facts
from advisor.observe.window import Window
from exporter.collectors.ddl import Ddl, Stage
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.machine import Machine
from exporter.snapshot import Index
from tests.advisor.building import ROWS, server, snapshot, variables
from tests.advisor.facts.capture_facts import facts_of

CLUSTERED = Index("shop", "orders", "PRIMARY")
MIB = 1 << 20


def test_a_build_is_seen_and_its_work_predicted() -> None:
    work = facts_of("mysql-9.7/index-builds").ddl
    assert (work.seen, work.builds, work.table, work.index, work.built) == (True, 8, "notes", "by_text", False)
    assert work.index_bytes == pytest.approx(200_000 * 255, rel=0.02)
    assert (work.sort_buffer_bytes, work.merge_passes) == (192 << 10, 7)
    assert work.enough_buffer_bytes == 64 * MIB
    assert work.enough_passes == 1
    assert 7 * (work.index_bytes or 0) < (work.written_bytes or 0) < 8 * (work.index_bytes or 0)


def test_a_build_in_progress_is_seen() -> None:
    stage = Stage("alter table (merge sort)", 1, 2)
    window = Window(tuple(snapshot(at, ddl=Ddl(0, 0, stages, 0, 0.0)) for at, stages in ((10, (stage,)), (20, ()))))
    assert facts.facts(window).ddl.seen is True


def test_without_a_build_seen_is_false_and_without_a_source_none() -> None:
    assert facts_of("mysql-9.7/idle").ddl.seen is False
    assert facts_of("mysql-9.7/unprivileged").ddl.seen is None


def test_a_server_without_secondary_indexes_has_nothing_to_merge() -> None:
    work = facts_of("mysql-9.7/counted-without-index").ddl
    assert (work.index_bytes, work.merge_passes, work.index) == (0.0, 0.0, None)


def test_an_index_that_appears_in_the_window_was_built() -> None:
    rows = {CLUSTERED: IndexSize(11_400, 11_350, ROWS, ("id",)), _index("old"): IndexSize(900, 890, None, ("a",))}
    new = rows | {_index("new"): IndexSize(300, 290, None, ("b",))}
    settings = variables(innodb_ddl_buffer_size=str(MIB), innodb_parallel_read_threads="4")
    window = Window(
        tuple(
            snapshot(at, of=server(), variables=settings, index_sizes=IndexSizes(sizes, 0), machine=Machine(cores=2.0))
            for at, sizes in ((10, rows), (20, new))
        )
    )
    work = facts.facts(window).ddl
    assert (work.index, work.built, work.entries) == ("new", True, ROWS)
    assert (work.reader_threads, work.fed_reader_threads, work.enough_buffer_bytes) == (4, 2, None)


def _index(name: str) -> Index:
    return Index("shop", "orders", name)
