"""The bounds of the gauntlet, and its table, from records that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from lab.gauntlet import report
from lab.gauntlet.record import FollowedAdvice, GauntletRecord, PromisedSaving, RoundFigure, broken


def measured(before: float, after: float, noise: float = 0.0) -> RoundFigure:
    return RoundFigure(before=before, after=after, noise=noise)


def promise(
    predicted: float, of: RoundFigure, *, now: float = 1000.0, error: float | None = 0.1, per_round: float = 1.0
) -> PromisedSaving:
    return PromisedSaving(
        quantity="pages read per pass",
        unit="pages",
        per_round=per_round,
        now=now,
        predicted=predicted,
        error=error,
        measured=of,
    )


def entry(**changed: Any) -> FollowedAdvice:
    read = measured(1200, 200)
    usual = {
        "rule": "scan-exceeds-old-sublist",
        "severity": "warning",
        "confidence": 0.9,
        "summary": "it is read",
        "subject": {"schema": "shop", "table": "orders"},
        "alternative": False,
        "applied": ("SET GLOBAL innodb_old_blocks_pct = 70",),
        "promise": promise(0, measured(1000, 0)),
        "read": read,
        "written": measured(0, 0),
        "busy": measured(0.4, 0.1),
        "tables": {"shop/orders": measured(1000, 0), "shop/items": measured(200, 200)},
    }
    return FollowedAdvice.model_validate(usual | changed)


def record(*entries: FollowedAdvice, unexpected: tuple[str, ...] = ()) -> GauntletRecord:
    return GauntletRecord(
        about="a load",
        expectation="it fires",
        reported=True,
        said=tuple(advice.rule for advice in entries),
        unexpected=unexpected,
        blind=(),
        read=1200,
        written=0,
        noise=3,
        seconds=1.2,
        busy=0.4,
        entries=entries,
    )


def test_advice_that_keeps_its_promise_breaks_no_bound() -> None:
    assert broken([("load on server", record(entry()))]) == []


def test_a_prediction_is_within_its_own_stated_error_or_within_chance() -> None:
    assert promise(0, measured(1000, 90)).within
    assert not promise(0, measured(1000, 110)).within
    assert promise(0, measured(1000, 110, noise=120)).within
    assert promise(0, measured(1000, 9), error=None).within
    assert not promise(0, measured(1000, 11), error=None).within


def test_a_promise_is_compared_in_the_unit_of_a_round() -> None:
    assert promise(0, measured(1000, 0), now=500, per_round=2.0).within


def test_advice_that_saves_less_than_a_quarter_of_its_promise_is_in_vain() -> None:
    assert promise(0, measured(1000, 760)).in_vain
    assert not promise(0, measured(1000, 740)).in_vain
    assert promise(1200, measured(1000, 1000)).in_vain


@pytest.mark.parametrize(
    ("changed", "harm"),
    [
        ({"read": measured(1200, 1300)}, "reads 1,200 → 1,300 a round"),
        ({"written": measured(100, 1300)}, "I/O 1,300 → 1,500 a round"),
        ({"tables": {"shop/items": measured(200, 300)}}, "reads of shop/items 200 → 300 a round"),
        ({"refused": "the server refuses it"}, "refused: the server refuses it"),
    ],
)
def test_harm_is_what_reads_more_than_before_or_is_refused(changed: dict[str, Any], harm: str) -> None:
    assert harm in entry(**changed).harm
    assert any(harm in text for text in broken([("load", record(entry(**changed)))]))


@pytest.mark.parametrize(
    "changed",
    [
        {"read": measured(1200, 1240)},
        {"read": measured(1200, 1500, noise=301)},
        {"read": measured(0, 9)},
        {"tables": {"shop/items": measured(200, 250)}},
        {"tables": {"shop/orders": measured(200, 900)}},
    ],
)
def test_chance_and_the_price_of_the_advice_are_no_harm(changed: dict[str, Any]) -> None:
    assert entry(**changed).harm == ()


def test_nine_of_ten_predictions_must_be_within_their_error() -> None:
    good, missed = entry(), entry(promise=promise(500, measured(1000, 0)))
    assert broken([("load", record(*[good] * 9, missed))]) == []
    assert broken([("load", record(*[good] * 8, missed))]) == [
        "share of predictions within their own stated error: 0.8889, not at least 0.9, of 9"
    ]


def test_what_is_not_as_expected_is_broken() -> None:
    silent = record(unexpected=("silent: none of scan-exceeds-old-sublist fires",))
    assert broken([("load", silent)]) == ["load: silent: none of scan-exceeds-old-sublist fires"]


def test_an_effect_that_is_no_rate_must_still_do_no_harm() -> None:
    assert broken([("load", record(entry(promise=None)))]) == []
    assert broken([("load", record(entry(promise=None, read=measured(100, 200))))]) != []


def test_a_line_shows_promise_and_measurement() -> None:
    first, second = report.line("load on server", record(entry()))
    assert first == "load on server: 1,200 (± 3) pages a round of 1.2 s; scan-exceeds-old-sublist"
    assert "promised 1,000 → 0 | after 0 | stated error 10% | within yes" in second
    assert "followed `innodb_old_blocks_pct = 70` |" in second
