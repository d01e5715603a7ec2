"""Proofs of statistics-outdated: tables that are larger than their persistent statistics say, and files that are."""

from __future__ import annotations

from functools import partial

from lab.captures.scenarios.scans import EMPTIED_PAGES, emptied_file
from lab.harness.measure import leaf_pages
from lab.harness.records import Data
from lab.harness.workloads import SCHEMA, emptied, make_outgrown_table, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, POOL, SCANNED, WATCHED, with_connection
from lab.proofs.trial import Trial
from lab.proofs.work_cost import PAUSE, comparisons, measure, measure_observed
from lab.servers.sql import execute

RULE = "statistics-outdated"
ANALYZE = f"ANALYZE TABLE {SCHEMA}.{SCANNED}"


def outgrown(trial: Trial) -> Data:
    """A table ten times as large as its statistics say is read from disk at each scan, and no other rule sees it."""
    server = trial.server
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    with server.connect() as connection:
        make_outgrown_table(connection, SCANNED, PAGES)
    with emptied(server, {OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        one_pass()
        known = leaf_pages(server, SCHEMA, SCANNED)
        window, before = measure_observed(server, one_pass, WATCHED)
        trial.fires(window, schema=SCHEMA, table=SCANNED)
        trial.follow()
        window, _ = measure_observed(server, one_pass, WATCHED)
        trial.silent(window)
        scans = Trial(server, "scan-exceeds-old-sublist", trial.say)
        scans.fires(window, schema=SCHEMA, table=SCANNED)
        scans.follow()
        one_pass()
        after = measure(server, one_pass)
        scans.take_back()
        trial.take_back()
    return trial.proved(
        condition=(
            f"A table of {PAGES:,} leaf pages, of which its statistics know {known:,}, is scanned every {PAUSE:g}"
            " seconds in a pool that another table had filled."
        ),
        facts=(
            EvidenceCheck(
                name="pages by the statistics", said=trial.evidence("statistics_pages"), known=known, within=0.1
            ),
        ),
        measures=comparisons("a pass", before, after),
        notes=(
            "Once the statistics are made anew, scan-exceeds-old-sublist fires. After is measured with its statement,"
            f" {'; '.join(statement for change in scans.found.changes for statement in change.apply)}."
        ),
    )


def free_pages_in_the_file(trial: Trial) -> CounterProofRecord:
    """A file of ten times the table's pages, whose other rows were deleted."""
    server = trial.server
    with emptied_file(server) as one_pass:
        one_pass()
        window, _ = measure_observed(server, one_pass, WATCHED)
        trial.silent(window)
        before = measure(server, one_pass)  # without the sidecar's own first reads
        execute(server, ANALYZE)
        after = measure(server, one_pass)
    return CounterProofRecord(
        folklore="a data file far larger than its table's statistics say shows that they are outdated",
        source="comparisons of FILE_SIZE with DATA_LENGTH",
        condition=(
            f"A table of {EMPTIED_PAGES:,} pages, in a file that has ten times as many since rows were deleted, is"
            f" scanned every {PAUSE:g} seconds."
        ),
        followed=(ANALYZE,),
        measures=(Comparison(what="pages read by a pass", unit="pages", before=before.pages, after=after.pages),),
    )


PROOFS = (Proof(RULE, dict.fromkeys(("mysql-9.7", "mariadb-11.8"), POOL), outgrown, takes=25),)
COUNTER_PROOFS = (CounterProof(RULE, "mysql-9.7", POOL, free_pages_in_the_file, takes=20),)
