import contextlib
import random
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import pymysql
import pytest

from exporter.collectors import innodb_metrics, innodb_status, pools
from exporter.collectors.innodb_status import parse
from exporter.collectors.pools import BufferPool
from exporter.rows import Rows
from exporter.server import identify
from exporter.status_text import ChangeBufferText, InnodbStatus, PoolText, parse_text
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.waiting import wait_for

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]
StartServer = Callable[..., PrivateServer]

PAGES = [field.name for field in fields(PoolText)]


def printed(server: PrivateServer, ask: Ask) -> str:
    [(_, _, text)] = ask(server, innodb_status.SQL)
    return str(text)


def numbers(status: InnodbStatus) -> dict[str, int]:
    """Every number, by its field."""
    parts: dict[str, PoolText | ChangeBufferText | None] = {
        "total": status.total,
        "change_buffer": status.change_buffer,
        **{f"pool {n}": pool for n, pool in enumerate(status.pools)},
    }
    return {
        f"{name}.{field}": number
        for name, part in parts.items()
        if part is not None
        for field, number in asdict(part).items()
        if number is not None
    }


def between_two_looks(server: PrivateServer, fetch: Fetch, ask: Ask) -> tuple[tuple[BufferPool, ...], InnodbStatus]:
    """The pools and the parsed text of one moment without changes."""

    def looks() -> tuple[tuple[BufferPool, ...], InnodbStatus] | None:
        before = pools.parse([fetch(server, pools.SQL)])
        status = parse_text(printed(server, ask))
        after = pools.parse([fetch(server, pools.SQL)])
        keys = [[{name: getattr(pool, name) for name in PAGES} for pool in look] for look in (before, after)]
        return (before, status) if keys[0] == keys[1] else None

    return wait_for(looks)


def test_the_text_says_what_the_table_says(server: PrivateServer, fetch: Fetch, ask: Ask) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "printed", 600)
        workloads.scan(connection, "printed")
    [pool], status = between_two_looks(server, fetch, ask)
    assert status.total == PoolText(**{name: getattr(pool, name) for name in PAGES})
    assert pool.old_pages > 0
    assert status.pools == ()
    assert not status.truncated


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-10.11", "mariadb-10.5", "mysql-5.6"])
def test_the_change_buffer_is_the_one_of_innodb_metrics(
    name: str, start_server: StartServer, fetch: Fetch, ask: Ask
) -> None:
    server = start_server(name, innodb_buffer_pool_size="8M", innodb_change_buffering="all")
    fill_change_buffer(server, ask)
    variables = {name.lower(): value for name, value in ask(server, "SHOW GLOBAL VARIABLES")}
    [sql] = innodb_metrics.queries(identify(variables))

    def looks() -> tuple[str, Mapping[str, int]] | None:
        before, text, metrics = fetch(server, sql), printed(server, ask), innodb_metrics.parse([fetch(server, sql)])
        return (text, metrics) if innodb_metrics.parse([before]) == metrics else None

    text, metrics = wait_for(looks)
    change_buffer = parse_text(text).change_buffer
    assert change_buffer is not None
    assert change_buffer.size_pages == metrics["ibuf_size"] > 0
    assert change_buffer.free_list_pages + change_buffer.size_pages < change_buffer.segment_pages < 10000
    assert change_buffer.merges == metrics["ibuf_merges"]
    assert change_buffer.merged_inserts == metrics["ibuf_merges_insert"] > 0
    assert change_buffer.merged_delete_marks == metrics["ibuf_merges_delete_mark"]
    assert change_buffer.merged_deletes == metrics["ibuf_merges_delete"]
    assert change_buffer.discarded_inserts == metrics["ibuf_merges_discard_insert"]
    assert change_buffer.discarded_delete_marks == metrics["ibuf_merges_discard_delete_mark"]
    assert change_buffer.discarded_deletes == metrics["ibuf_merges_discard_delete"]
    assert_never_a_wrong_number(text)


def fill_change_buffer(server: PrivateServer, ask: Ask) -> None:
    """Insert into secondary indexes whose pages were evicted from the pool."""
    chooser = random.Random(1)  # noqa: S311 - any numbers will do

    def some() -> str:
        return ",".join(str(chooser.randrange(10**9)) for _ in range(3))

    doubling = (
        "INSERT INTO shop.b SELECT id + {0}, RAND() * 1000000000, RAND() * 1000000000, RAND() * 1000000000 FROM shop.b"
    )
    ask(
        server,
        "CREATE DATABASE shop",
        "CREATE TABLE shop.b (id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a), KEY (b), KEY (c)) ENGINE=InnoDB",
        "INSERT INTO shop.b VALUES (1, 1, 1, 1)",
        *(doubling.format(2**n) for n in range(15)),
        "CREATE TABLE shop.big (id INT PRIMARY KEY, filler VARCHAR(2000)) ENGINE=InnoDB",
        "INSERT INTO shop.big SELECT id, REPEAT('x', 1800) FROM shop.b WHERE id <= 5000",
        *["SELECT SUM(LENGTH(filler)) FROM shop.big"] * 3,
        "INSERT INTO shop.b VALUES " + ",".join(f"({100000 + n},{some()})" for n in range(900)),
        # Reading some of them merges what was buffered for their pages.
        "SELECT COUNT(a) FROM shop.b FORCE INDEX (a) WHERE a < 50000000",
    )


def assert_never_a_wrong_number(text: str) -> None:
    """Every part of the text gives the same numbers as the whole text, or none."""
    whole = numbers(parse_text(text))
    assert len(whole) >= len(PAGES)
    for length in range(text.index("FILE I/O"), len(text)):
        part = parse_text(text[:length])
        assert numbers(part).items() <= whole.items(), length


def test_a_truncated_text_gives_no_wrong_number(server: PrivateServer, ask: Ask) -> None:
    text = printed(server, ask)
    assert_never_a_wrong_number(text)
    assert parse_text(text[:-40]).truncated
    assert numbers(parse_text(text[: text.index("FILE I/O")])) == {}


@pytest.mark.parametrize("title", ["BUFFER POOL AND MEMORY", "INSERT BUFFER[A-Z ]*", "FILE I/O"])
def test_a_section_that_is_missing_is_not_known(server: PrivateServer, ask: Ask, title: str) -> None:
    text = printed(server, ask)
    left = re.sub(rf"^-+\n{title}\n-+\n(?s:.*?)(?=^-+\n[A-Z])", "", text, flags=re.MULTILINE)
    before, after = parse_text(text), parse_text(left)
    if title == "BUFFER POOL AND MEMORY":
        assert (after.total, after.change_buffer) == (None, before.change_buffer)
    elif title == "FILE I/O":
        assert numbers(after) == {}  # without it, statements' texts cannot be told from InnoDB's
    else:
        assert (after.total, after.change_buffer) == (before.total, None)


def test_the_checkpoint_is_as_old_as_the_server_says(server: PrivateServer, ask: Ask) -> None:
    """Servers except MySQL 5.6 also have it in a status variable (MariaDB) or in two (MySQL 8.0.30+)."""

    def said() -> int | None:
        status = {name.lower(): value for name, value in ask(server, "SHOW GLOBAL STATUS LIKE 'Innodb%'")}
        if "innodb_redo_log_current_lsn" in status:
            return int(status["innodb_redo_log_current_lsn"]) - int(status["innodb_redo_log_checkpoint_lsn"])
        return int(status["innodb_checkpoint_age"]) if "innodb_checkpoint_age" in status else None

    def looks() -> tuple[int | None, int | None] | None:
        before, age, after = said(), parse_text(printed(server, ask)).checkpoint_age_bytes, said()
        return (before, age) if before == after else None

    variable, age = wait_for(looks)
    assert age is not None
    assert age >= 0
    assert variable in (None, age)


def test_a_text_without_a_log_section_tells_no_checkpoint(server: PrivateServer, ask: Ask) -> None:
    text = printed(server, ask)
    assert parse_text(text.replace("\nLOG\n", "\nLOOG\n")).checkpoint_age_bytes is None
    assert parse_text(text.replace("Last checkpoint at", "Last checkpoint by")).checkpoint_age_bytes is None


def test_clients_statements_are_never_parsed(server: PrivateServer, ask: Ask) -> None:
    lie = (
        "----------------------\nBUFFER POOL AND MEMORY\n----------------------\nBuffer pool size   1\n"
        "-------------\nINSERT BUFFER\n-------------\nsize 1, free list len 2, seg size 3, 4 merges\n"
        "--------\nFILE I/O\n--------\n"
        "----------------------\nINDIVIDUAL BUFFER POOL INFO\n----------------------\n"
        "---BUFFER POOL 0\nFree buffers 1\n"
    )
    ask(server, "CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE shop.liar (id INT PRIMARY KEY) ENGINE=InnoDB")
    ready = threading.Event()
    liar = server.connect()
    with liar.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        [(number,)] = cursor.fetchall()

    def write() -> None:
        with liar, liar.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO shop.liar VALUES (1)")
            ready.set()
            with contextlib.suppress(pymysql.MySQLError):  # it is killed
                cursor.execute(f"SELECT SLEEP(1000) /*\n{lie}*/")

    thread = threading.Thread(target=write)
    thread.start()
    wait_for(ready.is_set)
    text = wait_for(lambda: text if lie in (text := printed(server, ask)) else None)
    ask(server, f"KILL {number}")
    thread.join()
    status = parse_text(text)
    assert status == parse_text(text.replace(lie, ""))
    assert status.total is not None
    assert status.total.size_pages not in (None, 1)
    assert status.pools == ()


def test_garbage_in_the_upper_half_is_cut_off(server: PrivateServer, ask: Ask) -> None:
    """MariaDB 10.11 prints 64 bits but sets only 32 (seen: 4355096838145 for 1)."""
    text = printed(server, ask)
    if parse_text(text).change_buffer is None:  # empty: as MariaDB 10.11 prints it when it is not
        section = (
            "-------------\nINSERT BUFFER\n-------------\nsize 13, free list len 11, seg size 25, 15 merges\n"
            "merged operations:\ninsert 489, delete mark 0, delete 0\n"
            "discarded operations:\ninsert 0, delete mark 0, delete 0\n---\nLOG\n---\n"
        )
        text = text.replace("---\nLOG\n---\n", section)
    dirty, changed = re.subn(
        r"size (\d+), free list len (\d+), seg size (\d+),",
        lambda sizes: "size {}, free list len {}, seg size {},".format(
            *(int(size) + (garbage << 32) for size, garbage in zip(sizes.groups(), (1014, 126, 257), strict=True))
        ),
        text,
    )
    assert changed == 1
    assert parse_text(text).change_buffer is not None
    assert parse_text(dirty) == parse_text(text)


@pytest.mark.parametrize("text", ["", "Status", "-----\nBUFFER POOL AND MEMORY\n-----\nBuffer pool size 7\n"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the text of SHOW ENGINE INNODB STATUS"):
        parse_text(text)


def test_the_text_is_the_status_column_of_the_one_row(server: PrivateServer, fetch: Fetch) -> None:
    assert parse([fetch(server, innodb_status.SQL)]).total is not None
