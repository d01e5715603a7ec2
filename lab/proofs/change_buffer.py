"""Proofs of the rules of the change buffer: on or off, its maximum, and its backlog."""

from __future__ import annotations

from functools import partial

from advisor.casetest.alterations import Alteration
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, make_unique
from lab.harness.measure import Figures, counting, innodb_metric, pages_read, pool_statistic
from lab.harness.records import NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA
from lab.proofs import insert_load
from lab.proofs.insert_load import (
    BUFFERED,
    COUNTED_READS,
    POOL,
    POOL_PAGES,
    PREPARING,
    RARELY_MERGED,
    ROWS,
    UNBUFFERED,
    alternating,
    fill,
    insert,
    observe,
    prepare,
    read_back,
    row_cost,
    row_measures,
)
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, global_status, query_number

WOULD_HELP, WITHOUT_BENEFIT, UNSAFE = (
    f"change-buffering-{name}" for name in ("would-help", "without-benefit", "unsafe")
)
TOO_SMALL, BACKLOG = "change-buffer-too-small", "change-buffer-backlog"
ALL, NONE = ("SET GLOBAL innodb_change_buffering = 'all'",), ("SET GLOBAL innodb_change_buffering = 'none'",)
MOST_READ_PER_WRITTEN = 100
"""MySQLTuner recommends `none` above this many rows read per row written."""
LITTLE, LITTLE_ROWS, LITTLE_READS = "lookup", 10_000, 25
INSERTED_ROWS, INSERTIONS = 600, 3
BACKLOG_ROWS, BACKLOG_POOL, BACKLOG_MAX_SIZE = 250_000, "24M", 8
HARD_DISK = Alteration.model_validate({"machine": {"storage_configured": "hdd", "rotational": None}})
TABLE = f"{ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than a pool of {POOL}"
_AS_FAST = f"Rows are inserted as fast as it goes into {TABLE}"
_AS_LARGE_AS = "SET GLOBAL innodb_change_buffer_max_size = {}"
_HIGHER_IO_CAPACITY = ("SET GLOBAL innodb_io_capacity_max = 20000", "SET GLOBAL innodb_io_capacity = 20000")
"""An idle server merges innodb_io_capacity pages a second; 200 would take too long."""


def _sized(percent: int) -> dict[str, str]:
    return PREPARING | RARELY_MERGED | BUFFERED | {"innodb-change-buffer-max-size": f"{percent}"}


# MariaDB's page cleaner keeps up to this many pages free; the default of 1,536 is this whole pool.
_ON_MARIADB = PREPARING | BUFFERED | {"innodb-lru-scan-depth": "100"}
# Where reads go through the page cache, nothing that is measured speaks against a hard disk.
_BACKLOG = _sized(BACKLOG_MAX_SIZE) | COUNTED_READS | {"innodb-flush-method": "fsync"}
_MYSQL = ("mysql-9.7", "mysql-5.6")
_SLOW_SHUTDOWN = "pages read by a slow shutdown"
_MERGES = PredictedFigure("merges", "merges for an inserted row", "merges per row", per="rate")
_MERGES_A_SECOND = EvidenceFigure("merges a second", "merges_per_second", "merged", within=0.2)
"""The master thread merges in bursts, and on a busy machine only one of the two counts may cover a burst."""
_A_MERGE = EvidenceFigure("operations a merge", "operations_per_merge", "watched_per_merge")


@Proof(
    WOULD_HELP,
    dict.fromkeys(_MYSQL, PREPARING | RARELY_MERGED | UNBUFFERED),
    condition=f"{_AS_FAST}; innodb_change_buffering is none.",
    facts=(
        EvidenceFigure("pages read for a row", "write_reads_per_second", "pages", per="rate"),
        EvidenceFigure("rows that were inserted", "rows", "rows"),
        EvidenceFigure("pages of the pool", "pool_pages", "pool"),
    ),
    effect=PredictedFigure("pages", "pages read for an inserted row", "pages per row", per="rate"),
    measures=row_measures("inserted rows"),
    notes="Of the {after[pages]:.2f} pages that a row reads in the end {after[merges]:.2f} are merges; the others are"
    " of pages that do not stay in so small a pool, the change buffer's own among them. innodb_io_capacity is"
    " 200, so that the master thread merges little. A merge applies"
    " {after[per_merge]:.0f} changes. By the model, which goes by the rate of rows that wait"
    " for reads, it is {evidence[operations_per_merge_by_the_model]:.0f}. Until the buffer is full less is read.",
)
def _unbuffered(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    insert(server, 300)
    # No insertion runs during a collection: its statements would count different rows.
    seen = snapshots(server, partial(insert, server, INSERTED_ROWS), INSERTIONS)
    trial.fires(seen)
    trial.record(row_cost(server, 3_000))
    trial.follow()
    trial.say("the change buffer fills")
    fill(server)
    trial.record(row_cost(server, 8_000))
    trial.silent(observe(server, 600)[0])
    trial.take_back()
    rate = trial.evidence["index_changes_per_second"] / INDEXES
    trial.evidence["rows"] = rate * (seen[-1].at - seen[0].at)
    trial.before |= {"rate": rate, "rows": INSERTIONS * INSERTED_ROWS, "pool": POOL_PAGES}


@Proof(
    WITHOUT_BENEFIT,
    dict.fromkeys(_MYSQL, PREPARING | BUFFERED) | {"mariadb-10.11": _ON_MARIADB},
    condition=f"Each row that is inserted into {TABLE}, is looked up by each of its keys at once.",
    facts=(_MERGES_A_SECOND, _A_MERGE),
    effect=_MERGES,
    measures=(
        *row_measures("rows that are inserted and read back", timed=False),
        ComparedFigure("redo log written for them", "bytes per row", "redo"),
    ),
    notes="Medians of rounds with and without, in turns, by the rule's own statements. No time is compared: as many"
    " pages are read either way, and the difference is lost in the noise of this machine"
    " ({on_ms:.1f} and {off_ms:.1f} ms a row).",
)
def _of_no_use(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    read_back(server, 300)
    seen, row = observe(server, 100, read_back)
    trial.fires(seen)
    trial.follow()
    insert_load.drain(server)
    trial.silent(observe(server, 200, read_back)[0])
    trial.say("the same rows, with and without")
    on, off = alternating(server, (ALL, NONE), 200, read_back, rounds=10)
    trial.take_back()
    trial.before |= on | {
        "rate": row["rate"],
        "watched_per_merge": row["per_merge"],
        "merged": row["merges"] * row["rate"],
    }
    trial.after |= off
    trial.before |= {"on_ms": 1000.0 * on["seconds"], "off_ms": 1000.0 * off["seconds"]}


@Proof(
    UNSAFE,
    {"mariadb-10.11": _ON_MARIADB | COUNTED_READS},
    condition=f"innodb_change_buffering is all, and rows are inserted into {TABLE}.",
    facts=(EvidenceFigure("pages of the change buffer", "now", "held"),),
    effect=PredictedFigure("left", "change buffer after a shutdown"),
    measures=row_measures("rows looked up by random keys", timed=False),
    notes="That it corrupts data rests on the bug reports; it cannot be provoked. Before: after a shutdown as it is"
    " by default, which leaves the changes there. The slow one took {slow_seconds:.1f} s. A lookup reads"
    " several pages because the optimizer estimates its range by them (EXPLAIN alone reads most of them)."
    " Being safe has the price that the rule names: a row inserted read {after[unbuffered]:.2f} pages then, and"
    " {buffered:.2f} before.",
)
def _unsafe(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    trial.before["buffered"] = row_cost(server, 3_000)["pages"]
    trial.fires(snapshots(server, partial(insert, server, 200), 3))
    trial.before["held"] = int(global_status(server, "Innodb_ibuf_size")) & 0xFFFFFFFF  # above that it prints garbage
    server.restart()
    trial.before["left"] = insert_load.buffer_pages(server)
    trial.record(row_cost(server, 3_000, insert_load.look_up))
    insert(server, 3_000)
    trial.follow()
    trial.before["slow_seconds"] = insert_load.shut_down_slowly(server, UNBUFFERED)["seconds"]
    trial.after["left"] = insert_load.buffer_pages(server)
    trial.record(row_cost(server, 3_000, insert_load.look_up))
    trial.after["unbuffered"] = row_cost(server, 1_000)["pages"]
    if (size := insert_load.buffer_pages(server)) > 1:
        raise NotShown(f"the change buffer has {size} pages although changes are not buffered")
    trial.silent(observe(server, 200)[0])
    trial.take_back()


@Proof(
    TOO_SMALL,
    dict.fromkeys(_MYSQL, _sized(5)),
    condition=f"{_AS_FAST}, of which the change buffer may have 5 %.",
    facts=(
        _MERGES_A_SECOND,
        _A_MERGE,
        EvidenceFigure(
            "operations a merge, by the model", "operations_per_merge_by_the_model", "per_merge", within=0.3
        ),
    ),
    effect=_MERGES,
    measures=row_measures("inserted rows", timed=False),
    notes="A merge applied {per_merge:.1f} changes, and then {after[per_merge]:.1f}. innodb_io_capacity is 200, so"
    " that the master thread merges little. The pages that a row reads are not merges alone: others do not"
    " stay in so small a pool, the change buffer's own among them. A row took {ms:.2f} ms, and then"
    " {ms_then:.2f}.",
)
def _small(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    fill(server)
    seen, row = observe(server, 600)
    trial.fires(seen)
    trial.record(row_cost(server, 8_000))
    trial.before |= {"rate": row["rate"], "watched_per_merge": row["per_merge"], "merged": row["merges"] * row["rate"]}
    trial.follow()
    trial.say("the change buffer fills")
    fill(server)
    trial.record(row_cost(server, 8_000))
    trial.silent(observe(server, 2_000)[0])
    trial.take_back()
    trial.before |= {"ms": 1000.0 * trial.before["seconds"], "ms_then": 1000.0 * trial.after["seconds"]}


@Proof(
    BACKLOG,
    dict.fromkeys(_MYSQL, _BACKLOG),
    condition=f"{BACKLOG_ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than a pool of"
    f" {BACKLOG_POOL}; rows were inserted until the change buffer was at its maximum, {BACKLOG_MAX_SIZE} % of"
    " the pool.",
    facts=(
        # Counted a moment after the last snapshot: a burst of merges in between takes a tenth of the pages.
        EvidenceFigure("pages of the change buffer", "ibuf_size_pages", "buffer_pages", within=0.2),
        EvidenceFigure("pages it may have", "ibuf_max_size_pages", "most_pages"),
    ),
    effect=PredictedFigure("pages", _SLOW_SHUTDOWN),
    measures=(ComparedFigure(_SLOW_SHUTDOWN, "pages", "pages"),),
    notes="What the process read is counted from the signal to its end; a slow shutdown reads some pages for other"
    " things as well, with the change buffer empty too. It"
    " took {seconds:.1f} s, and then {after[seconds]:.1f}: its threads sleep for up to a second, which is longer"
    " than these reads take here. Emptying it beforehand took {merged:,} merges and {read:,} pages read, while"
    " the server still answered.",
    altered=HARD_DISK,
    why_altered="The storage is said to be a hard disk, where these reads take the ten seconds from which on the rule"
    " speaks; on this machine they do not, and it is silent. The reads themselves are counted here.",
)
def _backlog(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server, BACKLOG_ROWS, BACKLOG_POOL)
    fill(server)
    seen, row = observe(server, 200)
    trial.record(insert_load.shut_down_slowly(server))
    trial.fires(seen)
    trial.before |= {
        "buffer_pages": row["buffer_pages"],
        "most_pages": pool_statistic(server, "POOL_SIZE") * BACKLOG_MAX_SIZE / 100,
    }
    fill(server)
    trial.follow()
    merged, read = innodb_metric(server, "ibuf_merges"), pages_read(server)
    execute(server, *_HIGHER_IO_CAPACITY)
    insert_load.drain(server)
    trial.before |= {"merged": innodb_metric(server, "ibuf_merges") - merged, "read": pages_read(server) - read}
    trial.silent(observe(server, 200)[0])
    trial.say("and one after the advice")
    trial.record(insert_load.shut_down_slowly(server))
    trial.take_back()


@CounterProof(
    WITHOUT_BENEFIT,
    {"mysql-9.7": PREPARING | BUFFERED | RARELY_MERGED | {"innodb-change-buffer-max-size": "25"}},
    folklore=f"MySQLTuner is for none where more than {MOST_READ_PER_WRITTEN} rows are read for each that is written,"
    " blogs and the manual of MySQL 8.4 where the storage is an SSD.",
    source="MySQLTuner; seed 004 and the manual that it quotes, innodb-change-buffer",
    condition=f"Rows are inserted into {TABLE}; {{shares:.0f}} rows are read for each, of a small table. A merge"
    " applies {watched_per_merge:.0f} changes.",
    measures=row_measures("inserted rows"),
)
def _none_on_an_ssd(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{LITTLE} (id INT PRIMARY KEY) SELECT id FROM {SCHEMA}.{EVENTS} LIMIT {LITTLE_ROWS}",
    )
    fill(server)

    def mostly_read(server: PrivateServer, rows: int) -> None:
        insert(server, rows)
        for _ in range(LITTLE_READS * rows // 1_000):
            query_number(server, f"SELECT SUM(id) FROM {SCHEMA}.{LITTLE}")

    def rows() -> Figures:
        return {name: read(server) for name, read in counters.items()}

    counters = counting(read="Innodb_rows_read", inserted="Innodb_rows_inserted")
    before = rows()
    seen, row = observe(server, 1_000, mostly_read)
    after = rows()
    shares = (after["read"] - before["read"]) / (after["inserted"] - before["inserted"])
    if shares <= MOST_READ_PER_WRITTEN:
        raise NotShown(f"folklore is silent too: {shares:.0f} rows are read for each that is written")
    trial.silent(seen)
    _turned_off(trial)
    trial.before |= {"shares": shares, "watched_per_merge": row["per_merge"]}


@CounterProof(
    UNSAFE,
    {"mysql-5.6": PREPARING},
    folklore="The change buffer corrupts indexes: MariaDB turned it off and then removed it, so turn it off.",
    source="blogs on MDEV-27734 that make no difference between the two servers",
    condition=f"MySQL, where it is on by default; rows are inserted into {TABLE}.",
    measures=row_measures("inserted rows"),
)
def _none_on_mysql(trial: RuleTrial) -> None:
    prepare(trial.server)
    fill(trial.server)
    trial.silent(observe(trial.server, 600)[0])
    _turned_off(trial)


def _turned_off(trial: RuleTrial) -> None:
    trial.record(row_cost(trial.server, 6_000))
    trial.follow_folklore(*NONE)
    insert(trial.server, 1_000)
    trial.record(row_cost(trial.server, 2_000))


@CounterProof(
    WOULD_HELP,
    {"mysql-9.7": PREPARING | UNBUFFERED},
    folklore="On a hard disk, set innodb_change_buffering to all; it is for SSDs that none is right.",
    source="the manual of MySQL 8.4, innodb-change-buffer, and blogs that quote it",
    condition=f"Rows are inserted into {ROWS:,} rows with {INDEXES} secondary indexes on random keys: first in a pool"
    f" of {PREPARING['innodb-buffer-pool-size']} that holds them, then into unique ones larger than a pool of"
    f" {POOL}.",
    measures=(
        *row_measures("rows inserted into unique indexes"),
        ComparedFigure(
            "pages read for rows inserted into indexes that the pool holds", "pages per row", "resident_pages"
        ),
        ComparedFigure(
            "time of rows inserted into indexes that the pool holds", "ms per row", "resident_seconds", times=1000.0
        ),
    ),
    notes="In vain: whatever is buffered, a page that is in the pool is changed at once, and a unique index has to be"
    " read to see whether the key is there. Medians of rounds with and without, in turns.",
)
def _all_on_a_hard_disk(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server, pool=PREPARING["innodb-buffer-pool-size"])
    insert(server, 6_000)  # reads what there is
    trial.silent(observe(server, 1_000)[0])
    resident = alternating(server, (NONE, ALL), 1_500, insert)
    execute(server, *NONE)
    server.restart({"innodb-buffer-pool-size": POOL})
    with server.connect() as connection:
        make_unique(connection)
    insert(server, 600)
    trial.silent(observe(server, 300)[0])
    trial.before, trial.after = alternating(server, (NONE, ALL), 300, insert)
    for side, held in zip((trial.before, trial.after), resident, strict=True):
        side |= {f"resident_{name}": value for name, value in held.items()}
    trial.folklore += ALL


@CounterProof(
    TOO_SMALL,
    {"mysql-9.7": PREPARING | BUFFERED},
    folklore="Much is inserted and merged: raise innodb_change_buffer_max_size, up to 50.",
    source="the manual of MySQL, innodb_change_buffer_max_size, read without a look at what a merge applies",
    condition=f"Each row that is inserted into {TABLE}, is looked up by each of its keys at once: a merge applies"
    " {per_merge:.2f} changes.",
    measures=row_measures("rows that are inserted and read back", timed=False),
    notes="In vain. Medians of rounds with both sizes, in turns.",
)
def _larger_for_single_merges(trial: RuleTrial) -> None:
    server = trial.server
    prepare(server)
    read_back(server, 300)
    trial.silent(observe(server, 200, read_back)[0])
    sizes = tuple((_AS_LARGE_AS.format(size),) for size in (5, 50))
    trial.before, trial.after = alternating(server, (sizes[0], sizes[1]), 200, read_back, rounds=12)
    trial.folklore += sizes[1]


def resized(trial: RuleTrial, to: int) -> None:
    """A change buffer of a quarter of the pool is full; folklore resizes it."""
    server = trial.server
    prepare(server)
    fill(server)
    trial.silent(observe(server, 1_500)[0])
    trial.record(row_cost(server, 8_000))
    trial.follow_folklore(_AS_LARGE_AS.format(to))
    fill(server)
    trial.record(row_cost(server, 8_000))


_RESIZED_NOTES = "A merge applied {per_merge:.0f} changes, and then {after[per_merge]:.0f}."

PROOFS = (_unbuffered, _of_no_use, _unsafe, _small, _backlog)
COUNTER_PROOFS = (
    _all_on_a_hard_disk,
    _none_on_an_ssd,
    _none_on_mysql,
    _larger_for_single_merges,
    CounterProof(
        TOO_SMALL,
        {"mysql-5.6": _sized(25)},
        folklore="A busy writer should have innodb_change_buffer_max_size at its maximum, 50.",
        source="the manual of MySQL, innodb_change_buffer_max_size, and blogs that quote it",
        condition=f"{_AS_FAST}, of which the change buffer may have 25 %.",
        measures=row_measures("inserted rows"),
        notes=_RESIZED_NOTES,
    )(partial(resized, to=50)),
    CounterProof(
        BACKLOG,
        {"mysql-9.7": _sized(25)},
        folklore="The change buffer is at its maximum and takes memory from the pool: lower its maximum.",
        source="the manual of MySQL, innodb_change_buffer_max_size, where it takes too much of the pool",
        condition=f"{_AS_FAST}, of which the change buffer may have 25 %, and does; the storage is an SSD, and emptying"
        " it takes no time.",
        measures=row_measures("inserted rows"),
        notes=_RESIZED_NOTES,
    )(partial(resized, to=5)),
)
