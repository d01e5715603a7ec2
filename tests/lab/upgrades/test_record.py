from __future__ import annotations

from typing import Any

import pytest

from lab.upgrades import record
from lab.upgrades.record import ForetoldEffect, LoadFigures, UpgradedLoad

SECONDS = 2.0


def _load(read: float, written: float = 0.0, *, noise: float = 0.0, **attributes: Any) -> LoadFigures:
    figures = {"read": (read, noise), "written": (written, noise), "shop/orders": (read, noise)}
    return LoadFigures(
        server="mysql-9.7", version="9.7.4", rounds=8, figures=figures, **{"seconds": SECONDS} | attributes
    )


def _effect(quantity: str, unit: str, now: float, predicted: float, **attributes: Any) -> ForetoldEffect:
    return ForetoldEffect.model_validate(
        dict.fromkeys(("low", "high", "pages_per_second", "better"))
        | {"name": "free_list_kept", "summary": "", "subject": {}}
        | {"quantity": quantity, "unit": unit, "now": now, "predicted": predicted}
        | attributes
    )


def _passes(predicted: float, **attributes: Any) -> ForetoldEffect:
    """A scan that is passed once in a round, and reads 500 pages now."""
    subject = {"schema": "shop", "table": "orders"}
    more = {"pages_per_second": (predicted - 500) / SECONDS}
    return _effect("pages read per pass", "pages", 500, predicted, subject=subject, **more | attributes)


def _upgraded(
    before: LoadFigures, after: LoadFigures, *effects: ForetoldEffect, unknown: tuple[str, ...] = ()
) -> UpgradedLoad:
    return UpgradedLoad(name="a load", before=before, after=after, effects=effects, unknown=unknown)


HELD = {
    "nothing foretold, nothing changed": _upgraded(_load(500, 300), _load(530, 320)),
    "a change by chance": _upgraded(_load(500, noise=80), _load(600, noise=80)),
    "few pages": _upgraded(_load(5), _load(14)),
    "within a fifth": _upgraded(_load(500), _load(1_000), _passes(1_150)),
    "inside the interval": _upgraded(_load(500), _load(1_000), _passes(600, low=500, high=1_000)),
    "a rate": _upgraded(
        _load(500), _load(1_000), _effect("pages read per second by lookups", "pages per second", 100, 340)
    ),
    "a change that is named as not known": _upgraded(
        _load(0, 300), _load(0, 900), unknown=("Pages are written at another pace",)
    ),
    "twice the load, and twice the pages": _upgraded(_load(500, work={"rows": 100}), _load(1_000, work={"rows": 200})),
}


@pytest.mark.parametrize("upgraded", HELD.values(), ids=HELD)
def test_what_is_as_foretold_holds(upgraded: UpgradedLoad) -> None:
    assert list(upgraded.broken()) == []


BROKEN = {
    "a change that nothing foretold": (
        _upgraded(_load(500), _load(1_000), unknown=("Pages are written at another pace",)),
        ["a load: pages read 500 → 1,000 a round: not foretold"],
    ),
    "a promise that does not come": (
        _upgraded(_load(500), _load(500), _passes(100, low=50, high=200)),
        [
            "a load: pages read 500 → 500 a round, 100 foretold: -80%: off",
            "a load: pages read of shop/orders 500 → 500 a round, 100 foretold: -80%: off",
        ],
    ),
}


@pytest.mark.parametrize(("upgraded", "broken"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_as_foretold_is_named(upgraded: UpgradedLoad, broken: list[str]) -> None:
    assert list(upgraded.broken()) == broken


@pytest.mark.parametrize(
    ("off", "broken"), [(1, []), (2, ["share of predicted figures that hold: 0.8, not at least 0.9, of 20"])]
)
def test_few_predictions_may_be_off(off: int, broken: list[str]) -> None:
    right, wrong = HELD["inside the interval"], _upgraded(_load(500), _load(1_000), _passes(700))
    assert list(record.broken([*[right] * (10 - off), *[wrong] * off])) == broken


def test_effects_on_the_same_figure_add_up() -> None:
    lookups = _effect("pages read per second by everything but scans", "pages per second", 10, 60, low=50, high=70)
    [reads, *_] = _upgraded(_load(500), _load(900), _passes(800, low=700, high=900), lookups).foretold()
    assert (reads.predicted, reads.low, reads.high) == (900, 780, 1_020)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"rows": 100}, {"rows": 900}, "another pace: 9 times as many rows a second"),
        (
            {"statements": 100, "rows": 100},
            {"statements": 200, "rows": 100},
            "another mix: 2 times as many statements a second, 1 times as many rows a second",
        ),
    ],
)
def test_another_load_judges_nothing(before: dict[str, float], after: dict[str, float], why: str) -> None:
    upgraded = _upgraded(_load(500, work=before), _load(5_000, work=after))
    assert upgraded.other_load == why
    assert list(upgraded.broken()) == []
