from __future__ import annotations

from typing import Any

import pytest

from advisor.ledger.entry import Changed, Compared, Outcome, Result
from lab.outcomes.changed import ChangesRecord
from lab.outcomes.followed import OutcomeRecord

MEASURED = Compared(quantity="pages read per pass", before=2_700, after=100, noise=1)


def _record(
    counted: tuple[float, float] = (2_650.0, 110.0),
    result: Result = Result.KEPT,
    *,
    comparable: bool = True,
    **values: Any,
) -> OutcomeRecord:
    changes = (Changed(setting="innodb_old_blocks_pct", before=37, after=76),)
    attributes = {"followed": True, "measured": MEASURED, "error": 0.04} | values
    outcome = Outcome(id="a", at=0.0, changes=changes, result=result, **attributes)
    return OutcomeRecord(
        about="A load.", applied=(), outcome=outcome, counted=counted, windows=3.0, comparable=comparable
    )


def test_an_outcome_near_the_count_holds() -> None:
    assert list(_record().broken()) == []
    assert list(_record(counted=(2_700.0, 0.0), measured=MEASURED.model_copy(update={"after": 2})).broken()) == []


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        (_record(counted=(2_700.0, 150.0)), "reads after, by the ledger: 100, not 120 to 180"),
        (_record(counted=(3_500.0, 100.0)), "reads before, by the ledger: 2700, not 2800 to 4200"),
        (_record(result=Result.MISSED), "the outcome is missed: "),
        (_record(followed=False), "the outcome does not say that the advice was followed"),
        (_record(comparable=False), "other work began, and the outcome is kept"),
    ],
)
def test_what_does_not_hold_is_named(record: OutcomeRecord, broken: str) -> None:
    assert list(record.broken()) == [broken]


def test_other_work_has_to_be_not_comparable() -> None:
    assert list(_record(result=Result.NOT_COMPARABLE, comparable=False).broken()) == []


def _changes(**values: Any) -> ChangesRecord:
    attributes = {"about": "A load.", "changed": "x", "windows": 10, "changes": 1, "compared": 1, "harm": ()}
    return ChangesRecord(**attributes | {"reported_after": None} | values)


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        (_changes(reported_after=3.1, harm=("reads rose",)), []),
        (_changes(reported_after=4.1, harm=("reads rose",)), ["windows until harm is reported: 4.1, not at most 3.2"]),
        (_changes(reported_after=3.1), ["no harm is reported"]),
        (_changes(changes=50, compared=40), []),
        (_changes(changes=50, compared=3), ["changes that could be compared: 3, not at least 10, of 50"]),
        (
            _changes(changes=50, compared=40, harm=("a",)),
            ["harm is reported, though the changes have no effect: ('a',)"],
        ),
    ],
)
def test_harm_is_reported_in_time_and_only_where_there_is_some(record: ChangesRecord, broken: list[str]) -> None:
    assert list(record.broken()) == broken
