"""Proofs of the rules of the change buffer's size: its maximum, and its backlog."""

from __future__ import annotations

from advisor.casetest.alterations import Alteration
from lab.captures.scenarios.change_buffer import INDEXES
from lab.harness.measure import pages_read, pool_statistic
from lab.harness.records import Data
from lab.proofs import insert_load
from lab.proofs.base import CounterProof, Proof
from lab.proofs.change_buffer import TABLE
from lab.proofs.insert_load import BUFFERED, COUNTED_READS, PREPARING, RARELY_MERGED
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers.sql import execute

BACKLOG_ROWS, BACKLOG_POOL, BACKLOG_MAX_SIZE = 250_000, "24M", 8
HARD_DISK = Alteration.model_validate({"machine": {"storage_configured": "hdd", "rotational": None}})
_AS_LARGE_AS = "SET GLOBAL innodb_change_buffer_max_size = {}"


def small(trial: Trial) -> Data:
    """A buffer of 5 % of the pool, the default of MySQL 9.7, merges only a few changes at a time."""
    server = trial.server
    trial.say("the table is made, and the change buffer filled")
    insert_load.prepare(server)
    insert_load.fill(server)
    seen = insert_load.observe(server, 600)
    trial.fires(seen.snapshots)
    rate = seen.rate
    before = insert_load.measure(server, 8_000)
    trial.follow()
    trial.say("the change buffer fills")
    insert_load.fill(server)
    after = insert_load.measure(server, 8_000)
    trial.silent(insert_load.observe(server, 2_000).snapshots)
    trial.take_back()
    said = trial.evidence
    return trial.proved(
        condition=f"Rows are inserted as fast as it goes into {TABLE}, of which the change buffer may have 5 %.",
        facts=(
            # The master thread merges in bursts, and only one of the two counts may cover a burst.
            EvidenceCheck(
                name="merges a second", said=said("merges_per_second"), known=seen.spent.merges * rate, within=0.2
            ),
            EvidenceCheck(
                name="operations a merge",
                said=said("operations_per_merge"),
                known=seen.spent.operations / seen.spent.merges,
            ),
            EvidenceCheck(
                name="operations a merge, by the model",
                said=said("operations_per_merge_by_the_model"),
                known=before.operations / before.merges,
                within=0.3,
            ),
        ),
        effects=[
            trial.effect(
                before.merges, after.merges, quantity="merges for an inserted row", unit="merges per row", rate=rate
            )
        ],
        measures=insert_load.comparisons("inserted rows", before, after, timed=False),
        notes=(
            f"A merge applied {before.operations / before.merges:.1f} changes, and then"
            f" {after.operations / after.merges:.1f}. innodb_io_capacity is 200, so that the master thread merges"
            " little. The pages that a row reads are not merges alone: others do not stay in so small a pool, the"
            f" change buffer's own among them. A row took {before.milliseconds:.2f} ms, and then"
            f" {after.milliseconds:.2f}."
        ),
    )


def backlog(trial: Trial) -> Data:
    """A slow shutdown reads every page that has buffered changes."""
    server = trial.server
    trial.say("the table is made, and the change buffer filled")
    insert_load.prepare(server, BACKLOG_ROWS, BACKLOG_POOL)
    insert_load.fill(server)
    seen = insert_load.observe(server, 200)
    before = insert_load.shut_down_slowly(server)
    trial.fires(seen.snapshots)
    pool = pool_statistic(server, "POOL_SIZE")
    insert_load.fill(server)
    trial.follow()
    merged, read = insert_load.counter(server, "ibuf_merges"), pages_read(server)
    # An idle server merges innodb_io_capacity pages a second; 200 would take too long.
    execute(server, "SET GLOBAL innodb_io_capacity_max = 20000", "SET GLOBAL innodb_io_capacity = 20000")
    insert_load.drain(server)
    merged, read = insert_load.counter(server, "ibuf_merges") - merged, pages_read(server) - read
    trial.silent(insert_load.observe(server, 200).snapshots)
    trial.say("and one after the advice")
    after = insert_load.shut_down_slowly(server)
    trial.take_back()
    quantity = "pages read by a slow shutdown"
    return trial.proved(
        condition=(
            f"{BACKLOG_ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than a pool of"
            f" {BACKLOG_POOL}; rows were inserted until the change buffer was at its maximum, {BACKLOG_MAX_SIZE} % of"
            " the pool."
        ),
        altered=(
            "The storage is said to be a hard disk, where these reads take the ten seconds from which on the rule"
            " speaks; on this machine they do not, and it is silent. The reads themselves are counted here."
        ),
        facts=(
            # Counted a moment after the last snapshot: a burst of merges in between takes a tenth of the pages.
            EvidenceCheck(
                name="pages of the change buffer",
                said=trial.evidence("ibuf_size_pages"),
                known=seen.buffer_pages,
                within=0.2,
            ),
            EvidenceCheck(
                name="pages it may have",
                said=trial.evidence("ibuf_max_size_pages"),
                known=pool * BACKLOG_MAX_SIZE / 100,
            ),
        ),
        effects=[trial.effect(before[0], after[0], quantity=quantity)],
        measures=(Comparison(what=quantity, unit="pages", before=before[0], after=after[0]),),
        notes=(
            "What the process read is counted from the signal to its end; a slow shutdown reads some pages for other"
            " things as well, with the change buffer empty too. It"
            f" took {before[1]:.1f} s, and then {after[1]:.1f}: its threads sleep for up to a second, which is longer"
            f" than these reads take here. Emptying it beforehand took {merged:,} merges and {read:,} pages read, while"
            " the server still answered."
        ),
    )


def larger_for_single_merges(trial: Trial) -> CounterProofRecord:
    """Merges of one change each stay so at any size of the buffer."""
    server = trial.server
    insert_load.prepare(server)
    insert_load.read_back(server, 300)
    trial.silent(insert_load.observe(server, 200, insert_load.read_back).snapshots)
    small, large = ((_AS_LARGE_AS.format(size),) for size in (5, 50))
    before, after = insert_load.alternating(server, (small, large), 200, insert_load.read_back, rounds=12)
    return CounterProofRecord(
        folklore="Much is inserted and merged: raise innodb_change_buffer_max_size, up to 50.",
        source="the manual of MySQL, innodb_change_buffer_max_size, read without a look at what a merge applies",
        condition=(
            f"Each row that is inserted into {TABLE}, is looked up by each of its keys at once: a merge applies"
            f" {before.operations / before.merges:.2f} changes."
        ),
        followed=large,
        measures=insert_load.comparisons("rows that are inserted and read back", before, after, timed=False),
        notes="In vain. Medians of rounds with both sizes, in turns.",
    )


def larger_than_a_quarter(trial: Trial) -> CounterProofRecord:
    """Half of the pool for the change buffer saves no reads that a quarter does not save."""
    return _resized(
        trial,
        to=50,
        folklore="A busy writer should have innodb_change_buffer_max_size at its maximum, 50.",
        source="the manual of MySQL, innodb_change_buffer_max_size, and blogs that quote it",
        condition=f"Rows are inserted as fast as it goes into {TABLE}, of which the change buffer may have 25 %.",
    )


def smaller_for_a_full_one(trial: Trial) -> CounterProofRecord:
    """At its maximum is where a change buffer saves most."""
    return _resized(
        trial,
        to=5,
        folklore="The change buffer is at its maximum and takes memory from the pool: lower its maximum.",
        source="the manual of MySQL, innodb_change_buffer_max_size, where it takes too much of the pool",
        condition=(
            f"Rows are inserted as fast as it goes into {TABLE}, of which the change buffer may have 25 %, and does;"
            " the storage is an SSD, and emptying it takes no time."
        ),
    )


def _resized(trial: Trial, *, to: int, folklore: str, source: str, condition: str) -> CounterProofRecord:
    server = trial.server
    insert_load.prepare(server)
    insert_load.fill(server)
    trial.silent(insert_load.observe(server, 1_500).snapshots)
    before = insert_load.measure(server, 8_000)
    followed = (_AS_LARGE_AS.format(to),)
    trial.say("folklore is followed")
    execute(server, *followed)
    insert_load.fill(server)
    after = insert_load.measure(server, 8_000)
    return CounterProofRecord(
        folklore=folklore,
        source=source,
        condition=condition,
        followed=followed,
        measures=insert_load.comparisons("inserted rows", before, after),
        notes=(
            f"A merge applied {before.operations / before.merges:.0f} changes, and then"
            f" {after.operations / after.merges:.0f}."
        ),
    )


def _sized(percent: int) -> dict[str, str]:
    return PREPARING | RARELY_MERGED | BUFFERED | {"innodb-change-buffer-max-size": f"{percent}"}


# Where reads go through the page cache, nothing that is measured speaks against a hard disk.
_BACKLOG = _sized(BACKLOG_MAX_SIZE) | COUNTED_READS | {"innodb-flush-method": "fsync"}

PROOFS: tuple[Proof, ...] = (
    Proof("change-buffer-too-small", dict.fromkeys(("mysql-9.7", "mysql-5.6"), _sized(5)), small, takes=40),
    Proof(
        "change-buffer-backlog",
        dict.fromkeys(("mysql-9.7", "mysql-5.6"), _BACKLOG),
        backlog,
        takes=50,
        altered=HARD_DISK,
    ),
)
COUNTER_PROOFS: tuple[CounterProof, ...] = (
    CounterProof(
        "change-buffer-too-small",
        "mysql-9.7",
        PREPARING | BUFFERED,
        larger_for_single_merges,
        takes=40,
    ),
    CounterProof("change-buffer-too-small", "mysql-5.6", _sized(25), larger_than_a_quarter, takes=40),
    CounterProof("change-buffer-backlog", "mysql-9.7", _sized(25), smaller_for_a_full_one, takes=30),
)
