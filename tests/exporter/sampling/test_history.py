"""The history: equal values are shared, and it is bounded in length and size whatever the server sends."""

import gc
import tracemalloc
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporter.collectors.cached_indexes import CachedIndexes
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.data_files import FileReads
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.machine import Machine
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.recording.file import replay
from exporter.rows import Rows
from exporter.sampling.assembly import Answer, Assembler
from exporter.sampling.history import MOST_BYTES, BoundedHistory, SharedColumns, history_bytes, share, weight
from exporter.server import identify
from exporter.snapshot import Index, Snapshot, Table
from lab.captures import CAPTURES

SNAPSHOTS = 37
"""Six minutes, one snapshot every ten seconds."""
BUSY_TABLES = 100
LARGEST_SNAPSHOT = 8 * 2**20 // 361
"""An hour of them takes 8 MiB."""

keys = st.text(max_size=2) | st.builds(Table, st.text(max_size=1), st.text(max_size=1))
numbers = st.integers() | st.floats(allow_nan=False)
items = (
    numbers
    | st.none()
    | st.text(max_size=3)
    | st.builds(FileReads, st.integers(), st.integers(min_value=-(2**70), max_value=2**70), st.floats(allow_nan=False))
    | st.builds(Machine, cores=st.none() | st.floats(allow_nan=False), device=st.none() | st.text(max_size=2))
)
mappings = st.dictionaries(keys, items, max_size=6)


@given(st.lists(mappings, max_size=5))
def test_a_shared_mapping_equals_the_dictionary_and_keeps_its_order(some: list[dict[Any, Any]]) -> None:
    before: Mapping[Any, Any] | None = None
    made = []
    for plain in some:
        before = share(plain, before)
        made.append(before)
    assert made == some
    assert [list(mapping) for mapping in made] == [list(plain) for plain in some]
    assert [repr(mapping) for mapping in made] == [repr(dict(mapping.items())) for mapping in made]


def test_it_answers_as_a_dictionary_does() -> None:
    made = share({"a": 1, "b": 2})
    assert isinstance(made, SharedColumns)
    assert ("a" in made, "c" in made, made.get("a"), made.get("c"), len(made)) == (True, False, 1, None, 2)
    assert not share({})


def test_numbers_keep_their_types() -> None:
    made = share({"a": FileReads(1, 2, 3.0), "b": FileReads(2**63, 2**64, 0.5)})
    assert repr(made["a"]) == repr(FileReads(1, 2, 3.0))
    assert made["b"].bytes == 2**64


def test_a_section_that_did_not_change_is_the_same_object() -> None:
    first = share(CachedIndexes({Index("a", "b", "c"): 7}, 0))
    assert share(CachedIndexes({Index("a", "b", "c"): 7}, 0), first) is first
    busier = share(CachedIndexes({Index("a", "b", "c"): 7}, 1), first)
    assert (busier.pages is first.pages, busier.other_pages) == (True, 1)


def test_keys_are_kept_once_whatever_their_order() -> None:
    first = share({Table("a", "b"): 1, Table("a", "c"): 2})
    second = share({Table("a", "c"): 4, Table("a", "b"): 3}, first)
    assert list(second.items()) == [(Table("a", "c"), 4), (Table("a", "b"), 3)]
    third = share({Table("a", "b"): 3}, second)
    for made in (second, third):
        assert {id(key) for key in made} <= {id(key) for key in first}


def test_unchanged_columns_are_shared() -> None:
    first = share({"a": CountStatement(1, 1.0, 0, 0), "b": CountStatement(2, 2.0, 0, 0)})
    second = share({"a": CountStatement(5, 5.0, 0, 0), "b": CountStatement(6, 6.0, 0, 0)}, first)
    assert isinstance(first, SharedColumns)
    assert isinstance(second, SharedColumns)
    assert [now is then for now, then in zip(second.columns, first.columns, strict=True)] == [False, False, True, True]


# The history


def busy(names: list[Table], number: int) -> Iterator[Answer]:
    """performance_schema's rows for tables that are all read, scanned and counted between two collections."""
    counts = [(table, number * 1000 + place * 7) for place, table in enumerate(names)]
    files = [(f"./{t.schema}/{t.table}.ibd", n, n << 14, n << 33, "./") for t, n in counts]
    digests = [(t.schema, f"SELECT COUNT ( * ) FROM `{t.table}`", n, n << 34, n << 9) for t, n in counts]
    scans = sorted(((t.schema, t.table, n << 10) for t, n in counts), key=lambda row: row[2] % (number + 3))
    columns = ["file_name", "read_count", "bytes", "picoseconds", "datadir"]
    yield answer("table_files", number, columns, files)
    columns = ["schema_name", "digest_text", "executions", "picoseconds", "rows_examined"]
    yield answer("count_statements", number, columns, digests)
    yield answer("table_scans", number, ["object_schema", "object_name", "count_fetch"], scans)


def answer(collector: str, number: int, columns: list[str], rows: list[tuple[Any, ...]]) -> Answer:
    return Answer(collector, 1e9 + 10 * number, 0.001 * number, (Rows.of(columns, rows),))


def others(last: Snapshot, number: int) -> Iterator[Answer]:
    """A real server's counters, all of which have changed."""
    rows = [(name, value + number) for name, value in (last[STATUS] or {}).items()]
    yield answer("status", number, ["variable_name", "value"], [(name, str(value)) for name, value in rows])
    counters = [(name, value + number) for name, value in (last[INNODB_METRICS] or {}).items()]
    yield answer("innodb_metrics", number, ["name", "count"], counters)
    cached = [(f"shop/orders_{n}", "PRIMARY", number * 10 + n) for n in range(BUSY_TABLES)]
    if number % 3 == 0:
        yield answer("cached_indexes", number, ["table_name", "index_name", "pages"], cached)


def test_the_history_of_a_busy_server_is_small() -> None:
    *_, last = replay(CAPTURES / "mysql-9.7" / "idle" / "recording.jsonl.gz")
    assembler = Assembler(identify({"version": "9.7.4", "performance_schema": "ON"}), "watcher@%")
    names = [Table("shop", f"orders_{n}") for n in range(BUSY_TABLES)]
    history: list[Snapshot] = []
    for number in range(SNAPSHOTS):
        for taken in (*busy(names, number), *others(last, number)):
            assembler.take(taken)
        history.append(assembler.snapshot(1e9 + 10 * number))
    newest = history[-1]
    sections = (newest[TABLE_FILES], newest[COUNT_STATEMENTS], newest[TABLE_SCANS])
    assert [len(section or ()) for section in sections] == [BUSY_TABLES] * 3
    assert len({(snapshot[TABLE_FILES] or {})[names[5]].bytes for snapshot in history}) == SNAPSHOTS
    assert all(weight(after.sections, before.sections) <= LARGEST_SNAPSHOT for before, after in pairwise(history))


def test_the_weight_is_about_what_a_section_takes() -> None:
    gc.collect()
    tracemalloc.start()
    section = share(
        {Table("shop", f"a long name of table {n}"): FileReads(2**40 + n, n + 2**40, 0.5) for n in range(5000)}
    )
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / 4 < weight(section) < taken * 2


def test_what_is_shared_weighs_nothing() -> None:
    tables = [Table("shop", f"t{n}") for n in range(100)]
    first = share({table: FileReads(1, 2, 3.0) for table in tables})
    assert weight(share({table: FileReads(1, 2, 3.0) for table in tables}, first), first) == 0
    changed = share({table: FileReads(n, 2, 3.0) for n, table in enumerate(tables)}, first)
    assert weight(changed, first) == 8 * 100
    more = share({table: FileReads(1, 2, 3.0) for table in (*tables, Table("shop", "another"))}, first)
    assert weight(more, first) < weight(first)


def test_after_a_reconnection_snapshots_share_what_did_not_change() -> None:
    """A storm of reconnections otherwise fills the history with copies: seen, 88 KiB each."""
    server = identify({"version": "9.7.4", "version_comment": ""})
    rows = Rows.of(["object_schema", "object_name", "count_fetch"], [["shop", f"t{n}", 2**40 + n] for n in range(100)])

    def snapshot(last: Snapshot | None) -> Snapshot:
        assembler = Assembler(server, "a@b", None if last is None else last.sections)
        assert assembler.snapshot(0.0).sections == {}
        assembler.take(Answer(TABLE_SCANS.name, 1.0, results=(rows,)))
        return assembler.snapshot(1.0)

    first = snapshot(None)
    assert snapshot(first)[TABLE_SCANS] is first[TABLE_SCANS]


SERVER = identify({"version": "9.7.4", "version_comment": ""})
NAMES = 100


def named(at: float, prefix: str) -> Snapshot:
    return Snapshot(
        at, SERVER, "a@b", sections={"table_scans": share({Table(prefix, f"t{n}"): n for n in range(NAMES)})}
    )


def test_it_keeps_the_newest_of_a_length() -> None:
    history = BoundedHistory((named(at, "shop") for at in range(5)), 3)
    assert [snapshot.at for snapshot in history] == [2, 3, 4]


def test_new_names_in_each_answer_shorten_it() -> None:
    history = BoundedHistory((), 100, most_bytes=1 << 18)
    for at in range(100):
        history.append(named(at, f"schema {at} " + "x" * 500))
    assert 2 <= len(history) < 20
    assert history[-1].at == 99


def test_the_same_names_fill_its_whole_length() -> None:
    history = BoundedHistory((), 100, most_bytes=1 << 18)
    snapshot = named(0, "shop")
    for at in range(100):
        history.append(Snapshot(at, SERVER, "a@b", sections=snapshot.sections))
    assert len(history) == 100


def test_the_newest_is_replaced() -> None:
    history = BoundedHistory((named(at, "shop") for at in range(3)), 3)
    assert history.pop().at == 2
    history.append(named(9, "shop"))
    assert [snapshot.at for snapshot in history] == [0, 1, 9]


def test_a_container_gives_it_an_eighth_at_most() -> None:
    assert history_bytes(64 << 20) == 8 << 20
    assert history_bytes(None) == history_bytes(24 << 30) == MOST_BYTES
