"""Workloads from reports of wrong, useless or missing advice."""

from __future__ import annotations

from lab.gauntlet import clients
from lab.gauntlet.workload import GauntletWorkload
from lab.harness.workloads import SCHEMA, make_indexed_table, make_table
from lab.servers import PrivateServer
from lab.servers.sql import execute

SCANNED, HOT, OTHER, WRITTEN = "orders", "items", "archive", "ledger"
SCANNED_PAGES, HOT_PAGES, LARGE_PAGES = 1_300, 300, 9_000  # of a pool of 2,048
_SCAN, _POOL = "scan-exceeds-old-sublist", "buffer-pool-too-small"
_BESIDE = {SCANNED: SCANNED_PAGES, HOT: HOT_PAGES}
_LOOKUPS = {"lookups": clients.look_up(HOT, HOT_PAGES, 300)}
_INDEXED_ROWS = 200_000


def _lagging(server: PrivateServer) -> None:
    """A table whose persistent statistics were taken when it had a tenth of its pages."""
    with server.connect() as connection:
        make_table(connection, SCANNED, SCANNED_PAGES)
    execute(
        server,
        f"ALTER TABLE {SCHEMA}.{SCANNED} STATS_AUTO_RECALC = 0",
        f"UPDATE mysql.innodb_index_stats SET stat_value = GREATEST(1, stat_value DIV 10)"
        f" WHERE database_name = '{SCHEMA}' AND table_name = '{SCANNED}'",
        f"UPDATE mysql.innodb_table_stats SET n_rows = n_rows DIV 10,"
        f" clustered_index_size = clustered_index_size DIV 10"
        f" WHERE database_name = '{SCHEMA}' AND table_name = '{SCANNED}'",
        f"FLUSH TABLE {SCHEMA}.{SCANNED}",
    )


def _indexed(server: PrivateServer) -> None:
    with server.connect() as connection:
        make_indexed_table(connection, WRITTEN, _INDEXED_ROWS)


def _with_covering_indexes(server: PrivateServer) -> None:
    """Indexes on whole columns: MariaDB 11.8 looks up the row of each entry of an index that has a column's prefix."""
    _indexed(server)
    keys = ", ".join(f"DROP INDEX {key}, ADD INDEX {key} ({key}, filler)" for key in ("k1", "k2"))
    execute(server, f"ALTER TABLE {SCHEMA}.{WRITTEN} {keys}", f"ANALYZE TABLE {SCHEMA}.{WRITTEN}")


def _with_small_indexes(server: PrivateServer) -> None:
    with server.connect() as connection:
        make_table(connection, WRITTEN, 2_600, indexes=2)


WORKLOADS = (
    GauntletWorkload(
        "scan-beside-hot-set",
        f"A table of {SCANNED_PAGES:,} pages is scanned each round, beside 300 lookups on {HOT_PAGES} pages.",
        "The scanned table fits the pool beside the hot set, but not the old sublist.",
        {"scan": clients.scan(SCANNED), **_LOOKUPS},
        one_of=(_SCAN,),
        tables=_BESIDE,
        reported=True,
        short="mysql-9.7",
    ),
    GauntletWorkload(
        "scan-beside-skewed-lookups",
        "A table of 1,300 pages is scanned each round, beside 1,000 lookups on 600 pages by Zipf's law.",
        "The scans are read from disk each time, and a way out of it must not cost the lookups more reads.",
        {"scan": clients.scan(SCANNED), "lookups": clients.look_up_skewed(HOT, 600, 1_000)},
        one_of=(_SCAN,),
        tables={SCANNED: SCANNED_PAGES, HOT: 600},
        reported=True,
    ),
    GauntletWorkload(
        "scan-beside-bursts",
        "A table of 1,350 pages is scanned each round, then 3,000 lookups on 900 pages follow within a second. The pool"
        " held a part of the 900 pages before another table filled it.",
        "No page becomes young, so the lookups read the same part of their pages in each round. A larger old"
        " sublist takes more of them away, and still has no room for the table.",
        {
            "work": clients.once(
                clients.together(clients.look_up(HOT, 900, 6_000), clients.scan(OTHER)),
                clients.together(clients.scan(SCANNED), clients.look_up(HOT, 900, 3_000)),
            ),
        },
        never=(_SCAN,),
        tables={SCANNED: 1_350, HOT: 900, OTHER: 1_500},
        filled=False,
        reported=True,
    ),
    GauntletWorkload(
        "lookups-beside-inserts",
        "900 lookups each round on 2,600 pages of a table into which 30 rows are inserted; its secondary indexes are"
        " small and cached.",
        "The reads are those of the lookups, and no change buffer takes them away.",
        {"lookups": clients.look_up(WRITTEN, 2_600, 900), "inserts": clients.insert(WRITTEN, 30, keys=2)},
        never=("change-buffering-would-help",),
        prepare=_with_small_indexes,
        options={"mysql-9.7": {"innodb-io-capacity": "200"}},
        period=0.3,
        reported=True,
    ),
    GauntletWorkload(
        "inserts-read-indexes",
        f"500 rows each round into a table of {_INDEXED_ROWS:,} rows with three random indexes, twice the pool.",
        "Each row reads index pages that the change buffer would read once for many rows.",
        {"inserts": clients.insert(WRITTEN, 500, keys=3, size=24)},
        one_of=("change-buffering-would-help",),
        prepare=_indexed,
        options={
            "": {"innodb-buffer-pool-size": "16M", "innodb-io-capacity": "200"},
            "mysql-9.7": {"innodb-change-buffering": "none"},
        },
        period=0.5,
        warm_up=8,
        reported=True,
    ),
    GauntletWorkload(
        "index-range-once",
        "A job reads a table of 9,000 pages by its primary key, 300 pages a round, for the first time; 300 lookups"
        " beside it.",
        "What is read for the first time is in no pool, however large.",
        {"job": clients.walk(OTHER, LARGE_PAGES, 300), **_LOOKUPS},
        never=(_POOL,),
        tables={OTHER: LARGE_PAGES, HOT: HOT_PAGES},
        period=0.5,
        reported=True,
        short="mariadb-11.8",
    ),
    GauntletWorkload(
        "table-that-just-fits",
        "A table of 1,700 pages is scanned each round, in a pool of 2,048 pages with 100 updates on 200 pages.",
        "The table only just fits: dirty pages and the free list may leave it no room.",
        {"scan": clients.scan(SCANNED), "updates": clients.update(HOT, 200, 100)},
        tables={SCANNED: 1_700, HOT: 200},
        reported=True,
    ),
    GauntletWorkload(
        "several-sessions-scan",
        "Three sessions scan the same table of 1,300 pages at once, beside 300 lookups.",
        "Each pass reads the table from disk, though three sessions share the reads.",
        {"first": clients.scan(SCANNED), "second": clients.scan(SCANNED), "third": clients.scan(SCANNED), **_LOOKUPS},
        one_of=(_SCAN,),
        tables=_BESIDE,
        reported=True,
    ),
    GauntletWorkload(
        "lagging-statistics",
        "As scan-beside-hot-set, with a table ten times as large as its statistics say.",
        "Old statistics must not hide that the table is read from disk at each pass.",
        {"scan": clients.scan(SCANNED), **_LOOKUPS},
        one_of=(_SCAN, "statistics-outdated"),
        tables={HOT: HOT_PAGES},
        prepare=_lagging,
        reported=True,
    ),
    GauntletWorkload(
        "key-order-scan",
        "SELECT … WHERE id > 0 ORDER BY id of a whole table of 1,300 pages each round, beside 300 lookups.",
        "A scan in the order of the key is no hot set that wants a larger pool.",
        {"scan": clients.query(f"SELECT LENGTH(filler) FROM {SCHEMA}.{SCANNED} WHERE id > 0 ORDER BY id"), **_LOOKUPS},
        never=(_POOL,),
        tables=_BESIDE,
        reported=True,
    ),
    GauntletWorkload(
        "pagination",
        "A batch job goes through a table of 1,300 pages each round, by WHERE id > … ORDER BY id LIMIT 500.",
        "Steady reading of a whole index is no hot set that wants a larger pool.",
        {"job": clients.paginate(SCANNED), **_LOOKUPS},
        never=(_POOL,),
        tables=_BESIDE,
        reported=True,
    ),
    GauntletWorkload(
        "secondary-index-scan",
        f"Two secondary indexes of a table of {_INDEXED_ROWS:,} rows are scanned each round, beside 300 lookups.",
        "Both indexes together exceed the old sublist, and fit the pool: they are scans, and no hot set.",
        {
            "scans": clients.together(
                clients.query(f"SELECT SUM(k1) FROM {SCHEMA}.{WRITTEN} FORCE INDEX (k1) WHERE k1 >= 0"),
                clients.query(f"SELECT SUM(k2) FROM {SCHEMA}.{WRITTEN} FORCE INDEX (k2) WHERE k2 >= 0"),
            ),
            **_LOOKUPS,
        },
        one_of=(_SCAN,),
        never=(_POOL,),
        tables={HOT: HOT_PAGES},
        prepare=_with_covering_indexes,
        options={"": {"innodb-buffer-pool-size": "24M"}},
        reported=True,
    ),
    GauntletWorkload(
        "steady-load",
        "A table of 1,300 pages is scanned in every second round, beside 300 lookups; advice is asked for each round.",
        "Under a steady load a finding appears once and stays.",
        {"scan": clients.scan(SCANNED, every=2), **_LOOKUPS},
        one_of=(_SCAN,),
        tables=_BESIDE,
        cycle=2,
        watched=12,
        each_time=True,
        reported=True,
    ),
)
