"""Proofs of statistics-outdated: tables that are larger than their persistent statistics say, and files that are."""

from __future__ import annotations

from lab.captures.scenarios.scans import EMPTIED_PAGES, emptied_file
from lab.harness.measure import leaf_pages
from lab.harness.workloads import SCHEMA, emptied, make_outgrown_table, scan, with_connection
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, Proof, pages_and_time
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, PAUSE, POOL, SCANNED, WATCHED
from lab.proofs.trial import RuleTrial

RULE = "statistics-outdated"


@Proof(
    RULE,
    dict.fromkeys(("mysql-9.7", "mariadb-11.8"), POOL),
    condition=f"A table of {PAGES:,} leaf pages, of which its statistics know {{statistics:,}}, is scanned every"
    f" {PAUSE:g} seconds in a pool that another table had filled.",
    facts=(EvidenceFigure("pages by the statistics", "statistics_pages", "statistics"),),
    measures=pages_and_time("a pass"),
    notes="Once the statistics are made anew, scan-exceeds-old-sublist fires. After is measured with its statement,"
    " {scans_followed}.",
)
def _outgrown(trial: RuleTrial) -> None:
    server = trial.server
    one_pass = with_connection(server, scan, SCANNED)
    with server.connect() as connection:
        make_outgrown_table(connection, SCANNED, PAGES)
    with emptied(server, {OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        one_pass()
        trial.before["statistics"] = leaf_pages(server, SCHEMA, SCANNED)
        trial.fires(trial.watch(one_pass, WATCHED, pause=PAUSE), schema=SCHEMA, table=SCANNED)
        trial.follow()
        seen = trial.watch(one_pass, WATCHED, pause=PAUSE)
        trial.silent(seen)
        scans = RuleTrial(server, "scan-exceeds-old-sublist", trial.say)
        scans.fires(seen, schema=SCHEMA, table=SCANNED)
        scans.follow()
        one_pass()
        trial.measure(one_pass, 3, pause=PAUSE)
        scans.take_back()
        trial.take_back()
        trial.before["scans_followed"] = "; ".join(scans.following.applied)


@CounterProof(
    RULE,
    {"mysql-9.7": POOL},
    folklore="a data file far larger than its table's statistics say shows that they are outdated",
    source="comparisons of FILE_SIZE with DATA_LENGTH",
    condition=f"A table of {EMPTIED_PAGES:,} pages, in a file that has ten times as many since rows were deleted, is"
    f" scanned every {PAUSE:g} seconds.",
    measures=(ComparedFigure("pages read by a pass", "pages", "pages"),),
)
def _free_pages_in_the_file(trial: RuleTrial) -> None:
    with emptied_file(trial.server) as one_pass:
        one_pass()
        trial.silent(trial.watch(one_pass, WATCHED, pause=PAUSE))
        trial.measure(one_pass, 3, pause=PAUSE)  # without the sidecar's own first reads
        trial.follow_folklore(f"ANALYZE TABLE {SCHEMA}.{SCANNED}")
        trial.measure(one_pass, 3, pause=PAUSE)


PROOFS = (_outgrown,)
COUNTER_PROOFS = (_free_pages_in_the_file,)
