from advisor.ledger.entry import Baseline, Outcome, Result
from advisor.ledger.ledger import Ledger
from exporter.collectors.data_files import FileReads
from exporter.snapshot import Snapshot
from tests.advisor.building import ORDERS, pool, snapshot, variables


def _seen(seconds: float, reads: int, pct: str) -> Snapshot:
    return snapshot(
        seconds,
        variables=variables(innodb_old_blocks_pct=pct),
        pools=(pool(size_pages=1000, pages_read=reads),),
        table_files={ORDERS: FileReads(reads, 0, 0.0)},
    )


def test_a_change_opens_an_outcome_and_closes_it_with_what_rose() -> None:
    history = [_seen(10.0 * n, 100 * n, "37") for n in range(91)]
    ledger, _ = Ledger().observe(history, None)
    assert not ledger.outcomes
    history.append(_seen(910.0, 9_100, "95"))
    ledger, told = ledger.observe(history, None)
    [outcome] = (each for each in told if isinstance(each, Outcome))
    assert outcome.changes[0].undo == ("SET GLOBAL innodb_old_blocks_pct = 37",)
    for n in range(1, 91):
        history.append(_seen(910.0 + 10.0 * n, 9_100 + 500 * n, "95"))
        ledger, told = ledger.observe(history, None)
    [closed] = (each for each in told if isinstance(each, Outcome))
    assert closed.result is Result.UNPROMISED
    assert {each.subject.get("table") for each in closed.harm} == {None, "orders"}


def test_the_entries_make_the_same_ledger() -> None:
    history = [_seen(10.0 * n, 100 * n, "37") for n in range(91)]
    ledger, _ = Ledger().observe([*history, _seen(910.0, 9_100, "95")], None)
    again = Ledger()
    for entry in ledger.entries:
        again = again.with_entry(entry)
    assert again == ledger
    assert any(isinstance(each, Baseline) for each in ledger.entries)
