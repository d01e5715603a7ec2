"""Workloads that nobody tuned a rule to: sysbench, dumps, batch jobs, queues, time series, tenants, an applier."""

from __future__ import annotations

from typing import Any

from lab.gauntlet import clients
from lab.gauntlet.workload import GauntletWorkload
from lab.harness.workloads import SCHEMA
from lab.programs import sysbench
from lab.servers import PrivateServer

_SYSBENCH: dict[str, Any] = {"tables": 6, "table_size": 30_000}  # 2,500 pages
_POOL = "buffer-pool-too-small"
_ANY = "Whatever is advised must keep its promise and harm nothing."
_TENANTS = 24


def _sysbench(server: PrivateServer) -> None:
    sysbench.prepare(server, "oltp_read_write", threads=2, **_SYSBENCH)


WORKLOADS = (
    GauntletWorkload(
        "sysbench-read-only",
        "sysbench oltp_read_only, 150 transactions a round, on six tables that are larger than the pool.",
        _ANY,
        programs={"sysbench": clients.sysbench_run("oltp_read_only", 150, rand_type="uniform", **_SYSBENCH)},
        prepare=_sysbench,
        period=0.5,
    ),
    GauntletWorkload(
        "sysbench-read-write",
        "sysbench oltp_read_write, 250 transactions a round, on six tables that are larger than the pool.",
        _ANY,
        programs={"sysbench": clients.sysbench_run("oltp_read_write", 250, rand_type="pareto", **_SYSBENCH)},
        prepare=_sysbench,
        period=0.5,
    ),
    GauntletWorkload(
        "sysbench-insert",
        "sysbench oltp_insert, 1,500 rows a round.",
        "Inserts into cached indexes read nearly nothing, so nothing is to change.",
        quiet=True,
        programs={"sysbench": clients.sysbench_run("oltp_insert", 1_500, **_SYSBENCH)},
        prepare=_sysbench,
        period=0.5,
    ),
    GauntletWorkload(
        "even-lookups",
        "1,000 lookups a round, spread evenly over 2,600 pages, in a pool of 2,048.",
        "A hot set is larger than the pool, and the machine has memory for it.",
        {"lookups": clients.look_up("items", 2_600, 1_000)},
        one_of=(_POOL,),
        tables={"items": 2_600},
        period=0.4,
    ),
    GauntletWorkload(
        "skewed-lookups",
        "1,500 lookups a round on 4,000 pages by Zipf's law, in a pool of 2,048.",
        _ANY,
        {"lookups": clients.look_up_skewed("items", 4_000, 1_500)},
        tables={"items": 4_000},
        period=0.4,
        warm_up=8,
    ),
    GauntletWorkload(
        "dump-beside-lookups",
        "A dump of 3,000 pages (the SELECT of mysqldump) in every third round, beside 600 lookups on 600 pages.",
        _ANY,
        {
            "dump": clients.query(f"SELECT /*!40001 SQL_NO_CACHE */ * FROM {SCHEMA}.archive", every=3),
            "lookups": clients.look_up("items", 600, 600),
        },
        tables={"archive": 3_000, "items": 600},
        cycle=3,
        watched=9,
    ),
    GauntletWorkload(
        "batch-update",
        "A batch job updates a table of 2,400 pages, 300 pages a round, beside 500 lookups on 500 pages.",
        "The reads are not those of inserts. Undo logs pass through the pool beside the table: 80 and 104 MiB were"
        " in vain on MySQL 9.7, and the model does not know created pages, so that no size can be promised.",
        {"job": clients.update_all("archive", 2_400, 300), "lookups": clients.look_up("items", 500, 500)},
        never=("change-buffering-would-help", "scan-exceeds-buffer-pool", _POOL),
        tables={"archive": 2_400, "items": 500},
        period=0.5,
        cycle=8,
        watched=16,
    ),
    GauntletWorkload(
        "queue",
        "A queue of 400 pages: 100 jobs a round are inserted at its end and taken from its beginning.",
        "A queue stays in the pool, so nothing is to change.",
        {"queue": clients.queue("jobs", 100), "lookups": clients.look_up("items", 300, 300)},
        quiet=True,
        tables={"jobs": 400, "items": 300},
        period=0.5,
        short="mysql-9.7",
    ),
    GauntletWorkload(
        "time-series",
        "A time series of 2,500 pages: 200 rows a round at its end, and the sum of the newest 2,000 rows.",
        "New pages are created, not read, and the newest stay in the pool.",
        {"series": clients.append_and_read_recent("readings", 200, 2_000)},
        quiet=True,
        tables={"readings": 2_500},
        period=0.5,
    ),
    GauntletWorkload(
        "tenants",
        f"{_TENANTS} tenants with a table of 130 pages each; the n-th gets 230/n lookups a round, 30 at least.",
        _ANY,
        {
            "tenants": clients.together(
                *(clients.look_up(f"tenant{n}", 130, max(30, 230 // n)) for n in range(1, _TENANTS + 1))
            )
        },
        tables={f"tenant{n}": 130 for n in range(1, _TENANTS + 1)},
        period=0.5,
    ),
    GauntletWorkload(
        "applier",
        "A stream as of a replica's single-threaded applier, without a second server: 300 row changes a round by"
        " primary key, four a transaction, on two tables of 1,500 pages, beside 200 lookups.",
        _ANY,
        {
            "applier": clients.apply_changes({"orders": 1_500, "items": 1_500}, 300),
            "lookups": clients.look_up("items", 300, 200),
        },
        never=("change-buffering-would-help",),
        tables={"orders": 1_500, "items": 1_500},
        period=0.5,
    ),
    GauntletWorkload(
        "phases",
        "Phases of two rounds: lookups on 300 pages, a report that scans 1,300 pages, updates on 300 pages.",
        "The report reads its table at each pass in each cycle. What keeps it holds over all phases.",
        {
            "phases": clients.in_turn(
                clients.look_up("items", 300, 600), clients.scan("orders"), clients.update("items", 300, 200), rounds=2
            )
        },
        one_of=("scan-exceeds-old-sublist", "scan-exceeds-buffer-pool"),
        tables={"orders": 1_300, "items": 300},
        cycle=6,
        watched=12,
    ),
    GauntletWorkload(
        "count-beside-lookups",
        "COUNT(*) of a table of 1,300 pages each round, beside 300 lookups on 300 pages.",
        "Each count reads the table from disk, and the old sublist is too small for it.",
        {"count": clients.count("orders"), "lookups": clients.look_up("items", 300, 300)},
        one_of=("count-parallel-never-promotes", "scan-exceeds-old-sublist", "count-has-no-small-index"),
        tables={"orders": 1_300, "items": 300},
    ),
    GauntletWorkload(
        "small-hot-set",
        "500 lookups a round on 500 pages, and a report over 300 pages, in a pool that holds both.",
        "Everything is in the pool, so nothing is to change.",
        {"lookups": clients.look_up("items", 500, 500), "report": clients.scan("orders")},
        quiet=True,
        tables={"items": 500, "orders": 300},
        period=0.5,
    ),
    GauntletWorkload(
        "two-reports",
        "Two tables of 900 pages are scanned in turn, beside 400 lookups on 400 pages.",
        "Each table would fit the old sublist at some percentage, but not both beside the lookups.",
        {
            "reports": clients.in_turn(clients.scan("orders"), clients.scan("invoices")),
            "lookups": clients.look_up("items", 400, 400),
        },
        one_of=("scan-exceeds-buffer-pool",),
        tables={"orders": 900, "invoices": 900, "items": 400},
        cycle=2,
    ),
)
