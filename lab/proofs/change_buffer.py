"""Proofs of the rules that turn change buffering on or off."""

from __future__ import annotations

from functools import partial

from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, make_unique
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA
from lab.proofs import insert_load
from lab.proofs.base import CounterProof, Proof
from lab.proofs.insert_load import BUFFERED, COUNTED_READS, POOL, PREPARING, RARELY_MERGED, ROWS, UNBUFFERED, RowCost
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, global_status, query_number

ALL, NONE = ("SET GLOBAL innodb_change_buffering = 'all'",), ("SET GLOBAL innodb_change_buffering = 'none'",)
MOST_READ_PER_WRITTEN = 100
"""MySQLTuner recommends `none` above this many rows read per row written."""
LITTLE = "lookup"
LITTLE_ROWS, LITTLE_READS = 10_000, 25
TABLE = f"{ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than a pool of {POOL}"


def unbuffered(trial: Trial) -> Data:
    """Every inserted row reads a leaf page for each of its index entries."""
    server = trial.server
    trial.say("the table is made")
    insert_load.prepare(server)
    insert_load.insert(server, 300)
    # No insertion runs during a collection: its statements would count different rows.
    seen = snapshots(server, partial(insert_load.insert, server, 600), 3)
    trial.fires(seen)
    before = insert_load.measure(server, 3_000)
    trial.follow()
    trial.say("the change buffer fills")
    insert_load.fill(server)
    after = insert_load.measure(server, 8_000)
    trial.silent(insert_load.observe(server, 600).snapshots)
    trial.take_back()
    said = trial.evidence
    rate = said("index_changes_per_second") / INDEXES
    return trial.proved(
        condition=f"Rows are inserted as fast as it goes into {TABLE}; innodb_change_buffering is none.",
        facts=(
            EvidenceCheck(name="pages read for a row", said=said("write_reads_per_second") / rate, known=before.pages),
            EvidenceCheck(name="rows that were inserted", said=rate * (seen[-1].at - seen[0].at), known=3 * 600),
            EvidenceCheck(
                name="pages of the pool", said=said("pool_pages"), known=_bytes(POOL) / insert_load.PAGE_BYTES
            ),
        ),
        effects=[
            trial.effect(
                before.pages,
                after.pages,
                quantity="pages read for an inserted row",
                unit="pages per row",
                rate=rate,
            )
        ],
        measures=insert_load.comparisons("inserted rows", before, after),
        notes=(
            f"Of the {after.pages:.2f} pages that a row reads in the end {after.merges:.2f} are merges; the others are"
            " of pages that do not stay in so small a pool, the change buffer's own among them. innodb_io_capacity is"
            " 200, so that the master thread merges little. A merge applies"
            f" {after.operations / after.merges:.0f} changes. By the model, which goes by the rate of rows that wait"
            f" for reads, it is {said('operations_per_merge_by_the_model'):.0f}. Until the buffer is full less is read."
        ),
    )


def of_no_use(trial: Trial) -> Data:
    """Every inserted row is read at once by each of its keys: each change is merged alone."""
    server = trial.server
    trial.say("the table is made")
    insert_load.prepare(server)
    insert_load.read_back(server, 300)
    seen = insert_load.observe(server, 100, insert_load.read_back)
    trial.fires(seen.snapshots)
    rate = seen.rate
    trial.follow()
    insert_load.drain(server)
    trial.silent(insert_load.observe(server, 200, insert_load.read_back).snapshots)
    trial.say("the same rows, with and without")
    on, off = insert_load.alternating(server, (ALL, NONE), 200, insert_load.read_back, rounds=10)
    trial.take_back()
    return trial.proved(
        condition=f"Each row that is inserted into {TABLE}, is looked up by each of its keys at once.",
        facts=(
            EvidenceCheck(  # not counted over the very same seconds, on a machine that does other work too
                name="merges a second",
                said=trial.evidence("merges_per_second"),
                known=seen.spent.merges * rate,
                within=0.2,
            ),
            EvidenceCheck(
                name="operations a merge",
                said=trial.evidence("operations_per_merge"),
                known=seen.spent.operations / seen.spent.merges,
            ),
        ),
        effects=[
            trial.effect(on.merges, off.merges, quantity="merges for an inserted row", unit="merges per row", rate=rate)
        ],
        measures=(
            *insert_load.comparisons("rows that are inserted and read back", on, off, timed=False),
            Comparison(
                what="redo log written for them", unit="bytes per row", before=on.redo_bytes, after=off.redo_bytes
            ),
        ),
        notes=(
            "Medians of rounds with and without, in turns, by the rule's own statements. No time is compared: as many"
            " pages are read either way, and the difference is lost in the noise of this machine"
            f" ({on.milliseconds:.1f} and {off.milliseconds:.1f} ms a row)."
        ),
    )


def unsafe(trial: Trial) -> Data:
    """MariaDB keeps buffered changes until their page is read."""
    server = trial.server
    trial.say("the table is made")
    insert_load.prepare(server)
    buffered = insert_load.measure(server, 3_000)
    trial.fires(snapshots(server, partial(insert_load.insert, server, 200), 3))
    held = int(global_status(server, "Innodb_ibuf_size")) & 0xFFFFFFFF  # above that MariaDB prints garbage
    server.restart()
    left = insert_load.buffer_pages(server)
    before = insert_load.measure(server, 3_000, insert_load.look_up)
    insert_load.insert(server, 3_000)
    trial.follow()
    _, seconds = insert_load.shut_down_slowly(server, UNBUFFERED)
    emptied = insert_load.buffer_pages(server)
    after = insert_load.measure(server, 3_000, insert_load.look_up)
    unbuffered = insert_load.measure(server, 1_000)
    if (size := insert_load.buffer_pages(server)) > 1:
        raise NotShown(f"the change buffer has {size} pages although changes are not buffered")
    trial.silent(insert_load.observe(server, 200).snapshots)
    trial.take_back()
    effect = trial.effect(left, emptied, quantity="change buffer after a shutdown")
    return trial.proved(
        condition=f"innodb_change_buffering is all, and rows are inserted into {TABLE}.",
        facts=(EvidenceCheck(name="pages of the change buffer", said=effect.now, known=held),),
        effects=[effect],
        measures=insert_load.comparisons("rows looked up by random keys", before, after, timed=False),
        notes=(
            "That it corrupts data rests on the bug reports; it cannot be provoked. Before: after a shutdown as it is"
            f" by default, which leaves the changes there. The slow one took {seconds:.1f} s. A lookup reads several"
            " pages because the optimizer estimates its range by them (EXPLAIN alone reads most of them). Being safe"
            f" has the price that the rule names: a row inserted read {unbuffered.pages:.2f} pages then, and"
            f" {buffered.pages:.2f} before."
        ),
    )


def none_on_an_ssd(trial: Trial) -> CounterProofRecord:
    """Far more rows are read than written, and the storage is an SSD; yet a merge applies many changes."""
    server = trial.server
    insert_load.prepare(server)
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{LITTLE} (id INT PRIMARY KEY) SELECT id FROM {SCHEMA}.{EVENTS} LIMIT {LITTLE_ROWS}",
    )
    insert_load.fill(server)

    def mostly_read(server: Server, rows: int) -> None:
        insert_load.insert(server, rows)
        for _ in range(LITTLE_READS * rows // 1_000):
            query_number(server, f"SELECT SUM(id) FROM {SCHEMA}.{LITTLE}")

    counts = [[global_status(server, f"Innodb_rows_{each}") for each in ("read", "inserted")]]
    seen = insert_load.observe(server, 1_000, mostly_read)
    counts += [[global_status(server, f"Innodb_rows_{each}") for each in ("read", "inserted")]]
    read, inserted = (after - before for before, after in zip(*counts, strict=True))
    shares = read / inserted
    if shares <= MOST_READ_PER_WRITTEN:
        raise NotShown(f"folklore is silent too: {shares:.0f} rows are read for each that is written")
    trial.silent(seen.snapshots)
    before, after = _followed(trial, NONE)
    return CounterProofRecord(
        folklore=(
            f"MySQLTuner is for none where more than {MOST_READ_PER_WRITTEN} rows are read for each that is written,"
            " blogs and the manual of MySQL 8.4 where the storage is an SSD."
        ),
        source="MySQLTuner; seed 004 and the manual that it quotes, innodb-change-buffer",
        condition=(
            f"Rows are inserted into {TABLE}; {shares:.0f} rows are read for each, of a small table. A merge applies"
            f" {seen.spent.operations / seen.spent.merges:.0f} changes."
        ),
        followed=NONE,
        measures=insert_load.comparisons("inserted rows", before, after),
    )


def none_on_mysql(trial: Trial) -> CounterProofRecord:
    """MySQL does not have the bugs of MariaDB's change buffer."""
    server = trial.server
    insert_load.prepare(server)
    insert_load.fill(server)
    trial.silent(insert_load.observe(server, 600).snapshots)
    before, after = _followed(trial, NONE)
    return CounterProofRecord(
        folklore="The change buffer corrupts indexes: MariaDB turned it off and then removed it, so turn it off.",
        source="blogs on MDEV-27734 that make no difference between the two servers",
        condition=f"MySQL, where it is on by default; rows are inserted into {TABLE}.",
        followed=NONE,
        measures=insert_load.comparisons("inserted rows", before, after),
    )


def all_on_a_hard_disk(trial: Trial) -> CounterProofRecord:
    """Buffering saves nothing if the pool holds the indexes, or if they are unique."""
    server = trial.server
    insert_load.prepare(server, pool=PREPARING["innodb-buffer-pool-size"])
    insert_load.insert(server, 6_000)  # reads what there is
    trial.silent(insert_load.observe(server, 1_000).snapshots)
    resident = insert_load.alternating(server, (NONE, ALL), 1_500, insert_load.insert)
    execute(server, *NONE)
    server.restart({"innodb-buffer-pool-size": POOL})
    with server.connect() as connection:
        make_unique(connection)
    insert_load.insert(server, 600)
    trial.silent(insert_load.observe(server, 300).snapshots)
    unique = insert_load.alternating(server, (NONE, ALL), 300, insert_load.insert)
    return CounterProofRecord(
        folklore="On a hard disk, set innodb_change_buffering to all; it is for SSDs that none is right.",
        source="the manual of MySQL 8.4, innodb-change-buffer, and blogs that quote it",
        condition=(
            f"Rows are inserted into {ROWS:,} rows with {INDEXES} secondary indexes on random keys: first in a pool of"
            f" {PREPARING['innodb-buffer-pool-size']} that holds them, then into unique ones larger than a pool of"
            f" {POOL}."
        ),
        followed=ALL,
        measures=(
            *insert_load.comparisons("rows inserted into unique indexes", *unique),
            *insert_load.comparisons("rows inserted into indexes that the pool holds", *resident),
        ),
        notes=(
            "In vain: whatever is buffered, a page that is in the pool is changed at once, and a unique index has to be"
            " read to see whether the key is there. Medians of rounds with and without, in turns."
        ),
    )


def _followed(trial: Trial, statements: tuple[str, ...]) -> tuple[RowCost, RowCost]:
    """The cost of an inserted row before and after folklore is followed."""
    trial.say("folklore is followed")
    before = insert_load.measure(trial.server, 6_000)
    execute(trial.server, *statements)
    insert_load.insert(trial.server, 1_000)
    return before, insert_load.measure(trial.server, 2_000)


def _bytes(size: str) -> int:
    return int(size.removesuffix("M")) * 2**20


_OFF = PREPARING | RARELY_MERGED | UNBUFFERED
_ON = PREPARING | BUFFERED
# MariaDB's page cleaner keeps up to this many pages free; the default of 1,536 is this whole pool.
_ON_MARIADB = _ON | {"innodb-lru-scan-depth": "100"}
_AS_BEFORE_8_4 = PREPARING | BUFFERED | RARELY_MERGED | {"innodb-change-buffer-max-size": "25"}

PROOFS: tuple[Proof, ...] = (
    Proof("change-buffering-would-help", dict.fromkeys(("mysql-9.7", "mysql-5.6"), _OFF), unbuffered, takes=30),
    Proof(
        "change-buffering-without-benefit",
        dict.fromkeys(("mysql-9.7", "mysql-5.6"), _ON) | {"mariadb-10.11": _ON_MARIADB},
        of_no_use,
        takes=40,
    ),
    Proof("change-buffering-unsafe", {"mariadb-10.11": _ON_MARIADB | COUNTED_READS}, unsafe, takes=25),
)
COUNTER_PROOFS: tuple[CounterProof, ...] = (
    CounterProof(
        "change-buffering-would-help",
        "mysql-9.7",
        PREPARING | UNBUFFERED,
        all_on_a_hard_disk,
        takes=45,
    ),
    CounterProof("change-buffering-without-benefit", "mysql-9.7", _AS_BEFORE_8_4, none_on_an_ssd, takes=30),
    CounterProof("change-buffering-unsafe", "mysql-5.6", PREPARING, none_on_mysql, takes=30),
)
