"""The rules of the change buffer on real servers: their own SQL helps as predicted, and they know when to be silent."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from advisor import engine, rule
from advisor.recommendation import Recommendation
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, look_up_keys, make_random_table, make_unique
from lab.servers import Server
from lab.watching import asked, execute, pages_read, watched
from lab.watching import rules as known
from lab.workloads import insert_rows

UNSAFE, WITHOUT_BENEFIT = "change-buffering-unsafe", "change-buffering-without-benefit"
WOULD_HELP, TOO_SMALL, BACKLOG = "change-buffering-would-help", "change-buffer-too-small", "change-buffer-backlog"
ROWS = 160_000  # three indexes of about 600 leaf pages each
POOL = "12M"  # 768 pages
ALL, OFF = {"innodb-change-buffering": "all"}, {"innodb-change-buffering": "none"}
RARELY_MERGED = {"innodb-io-capacity": "200"}  # by the master thread: how fast this machine is matters less
Start = Callable[..., Server]


def said(server: Server, rules: str | rule.Rule, work: Callable[[], None], times: int) -> list[Recommendation]:
    """What one rule says of a piece of work that is done so many times."""
    chosen = [each for each in known() if each.id == rules] if isinstance(rules, str) else [rules]
    advice = engine.advise(chosen, watched(server, work, times), beside=known())
    assert not advice.failed
    assert not advice.blind
    return list(advice.recommendations)


def counter(server: Server, name: str) -> int:
    sql = f"SELECT COUNT & 4294967295 FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'"
    return int(asked(server, sql))


def insert(server: Server, rows: int, *, read_back: bool = False) -> None:
    with server.connect() as connection:
        insert_rows(connection, EVENTS, rows, indexes=INDEXES, read_back=read_back, seed=None)


def growth_a_row(server: Server, count: Callable[[Server], int], rows: int) -> float:
    """How much a counter grows for each of so many rows that are inserted."""
    before = count(server)
    insert(server, rows)
    return (count(server) - before) / rows


def fill(server: Server) -> None:
    """Insert until the change buffer has grown as far as it does."""
    size = -1
    while counter(server, "ibuf_size") > size:
        size = counter(server, "ibuf_size")
        insert(server, 1_500)


def table(start_server: Start, name: str, **options: str) -> Server:
    """A server that has one with three random indexes, which are larger than its pool and not in it."""
    # Sampling pages for new statistics would read hundreds of them at any time.
    server = start_server(name, **{"innodb-buffer-pool-size": "64M", "innodb-stats-auto-recalc": "OFF"}, **options)
    make_random_table(server, ROWS, POOL)
    return server


def follow(server: Server, found: Recommendation) -> None:
    changes = (statement for change in found.changes for statement in change.apply)
    execute(server, *changes, *(statement for action in found.actions for statement in action.apply))


def take_back(server: Server, found: Recommendation) -> None:
    changes = (statement for change in found.changes for statement in change.rollback)
    execute(server, *changes, *(statement for action in found.actions for statement in action.rollback))


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6"])
def test_buffering_lets_one_read_serve_many_changes_as_predicted(start_server: Start, name: str) -> None:
    server = table(start_server, name, **OFF, **RARELY_MERGED)
    [found] = said(server, WOULD_HELP, partial(insert, server, 300), 3)
    before = growth_a_row(server, pages_read, 600)
    assert found.effect is not None
    assert found.effect.now is not None

    follow(server, found)
    fill(server)
    merged = [counter(server, name) for name in ("ibuf_merges_insert", "ibuf_merges")]
    after = growth_a_row(server, pages_read, 6_000)
    operations, merges = counter(server, "ibuf_merges_insert") - merged[0], counter(server, "ibuf_merges") - merged[1]
    [each] = [item.value for item in found.evidence if item.name == "operations_per_merge_by_the_model"]
    assert operations / merges == pytest.approx(float(each), rel=0.3)
    # In so small a pool the change buffer's own pages are read again too.
    assert 0.6 < (after / before) / (found.effect.predicted / found.effect.now) < 1.9
    assert said(server, WOULD_HELP, partial(insert, server, 300), 1) == []
    take_back(server, found)


def test_buffering_is_not_advised_where_it_would_save_nothing(start_server: Start) -> None:
    """Folklore says all for a hard disk and none for an SSD, whatever is written."""
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "64M"}, **OFF)
    make_random_table(server, ROWS, "64M")
    insert(server, 3_000)  # reads what there is
    assert said(server, WOULD_HELP, partial(insert, server, 2_000), 3) == []

    server.restart({"innodb-buffer-pool-size": POOL})

    def look_up() -> None:
        with server.connect() as connection:
            look_up_keys(connection, 600)
        insert(server, 5)

    before = pages_read(server)
    assert said(server, WOULD_HELP, look_up, 3) == []
    assert pages_read(server) - before > 1_000

    with server.connect() as connection:
        make_unique(connection)
    before = pages_read(server)
    assert said(server, WOULD_HELP, partial(insert, server, 300), 3) == []
    assert pages_read(server) - before > 1_000


def test_a_larger_buffer_merges_and_drains_as_predicted(start_server: Start, tmp_path: Path) -> None:
    server = table(start_server, "mysql-9.7", **ALL, **RARELY_MERGED, **{"innodb-change-buffer-max-size": "5"})
    merges = partial(counter, name="ibuf_merges")
    fill(server)
    [found] = said(server, TOO_SMALL, partial(insert, server, 1_000), 3)
    before = growth_a_row(server, merges, 2_000)
    assert found.effect is not None
    assert found.effect.now is not None
    follow(server, found)
    fill(server)
    after = growth_a_row(server, merges, 3_000)
    assert after / before == pytest.approx(found.effect.predicted / found.effect.now, rel=0.4)
    assert said(server, TOO_SMALL, partial(insert, server, 1_000), 1) == []

    [full_scale] = [each for each in known() if each.id == BACKLOG]
    assert said(server, full_scale, partial(insert, server, 1_000), 1) == []
    # Emptying this buffer takes no time here: the rule's floor is scaled down with it.
    scaled = tmp_path / full_scale.path.name
    scaled.write_text(full_scale.path.read_text().replace("floor_seconds: 10.0", "floor_seconds: 0.01"))
    [backlog] = said(server, rule.load_file(scaled), partial(insert, server, 1_000), 2)
    assert backlog.effect is not None
    merged = merges(server)
    follow(server, backlog)
    execute(server, "SET GLOBAL innodb_io_capacity = 20000")  # an idle server merges as many pages a second
    drain(server)
    assert merges(server) - merged == pytest.approx(backlog.effect.now, rel=0.5)
    assert said(server, rule.load_file(scaled), partial(insert, server, 200), 2) == []
    take_back(server, backlog)
    take_back(server, found)


def test_merges_of_one_operation_get_advice_that_ends_them(start_server: Start) -> None:
    server = table(start_server, "mysql-9.7", **ALL)
    assert said(server, WITHOUT_BENEFIT, partial(insert, server, 1_500), 3) == []
    assert counter(server, "ibuf_merges") > 200
    drain(server)

    read_back = partial(insert, server, 200, read_back=True)
    [found] = said(server, WITHOUT_BENEFIT, read_back, 3)
    follow(server, found)
    execute(server, *found.changes[0].persist)
    drain(server)
    before = counter(server, "ibuf_merges")
    assert said(server, WITHOUT_BENEFIT, read_back, 2) == []
    assert counter(server, "ibuf_merges") == before
    take_back(server, found)


def drain(server: Server) -> None:
    """Wait until an idle server has merged what is buffered."""
    deadline = time.monotonic() + 20
    while counter(server, "ibuf_size") > 1 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert counter(server, "ibuf_size") == 1


def test_mariadb_is_told_to_leave_it_off_and_to_empty_it(start_server: Start) -> None:
    server = table(start_server, "mariadb-10.11", **ALL)
    insert(server, 1_000)
    read_back = partial(insert, server, 200, read_back=True)
    [found] = said(server, UNSAFE, read_back, 3)
    assert counter(server, "ibuf_size") > 1
    assert [change.to for change in found.changes] == ["none"]

    follow(server, found)
    server.restart({"innodb-change-buffering": "none"})
    insert(server, 1_000)
    assert counter(server, "ibuf_size") == 1
    assert said(server, UNSAFE, read_back, 1) == []
    take_back(server, found)
