"""Closed outcomes are counted once each, and the errors of predictions by their size."""

from __future__ import annotations

from advisor.ledger.entry import Outcome, Result
from advisor.ledger.metrics import SPECS, OutcomeMetrics
from exporter.exposition import classic
from tests.advisor.ledger.outcomes import RULE, outcome

KEPT, MISSED = outcome(0, 12, id="kept"), outcome(0, 700, id="missed")
UNASKED = outcome(0, 0, id="unasked", rule=None, promise=None, error=None, result=Result.UNPROMISED)
OPEN = outcome(0, 0, id="open", result=Result.OPEN, error=None)
TOTAL, RATIO = SPECS


def shown(metrics: OutcomeMetrics, *outcomes: Outcome) -> dict[str, float]:
    """The samples by their name and labels in the text format."""
    lines = [line for line in classic(metrics.families(outcomes)).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_outcomes_are_counted_by_rule_and_result() -> None:
    samples = shown(OutcomeMetrics(), KEPT, MISSED, UNASKED, OPEN)
    assert {name: value for name, value in samples.items() if name.startswith(TOTAL)} == {
        f'{TOTAL}{{result="kept",rule="{RULE}"}}': 1,
        f'{TOTAL}{{result="missed",rule="{RULE}"}}': 1,
        f'{TOTAL}{{result="unpromised",rule=""}}': 1,
    }


def test_errors_are_counted_by_their_size_without_their_sign() -> None:
    less = outcome(500, 320, id="less")
    samples = shown(OutcomeMetrics(), KEPT, MISSED, less, UNASKED)
    bucket = {
        end: samples[f'{RATIO}_bucket{{le="{end}",rule="{RULE}"}}'] for end in ("0.01", "0.02", "0.2", "1.0", "+Inf")
    }
    assert bucket == {"0.01": 0, "0.02": 1, "0.2": 2, "1.0": 3, "+Inf": 3}
    assert samples[f'{RATIO}_sum{{rule="{RULE}"}}'] == 0.012 + 0.7 + 0.18
    assert samples[f'{RATIO}_count{{rule="{RULE}"}}'] == 3
    assert not [name for name in samples if RATIO in name and 'rule=""' in name]
    assert not [name for name in samples if "_created" in name]


def test_an_outcome_is_counted_once_and_stays_counted_when_the_ledger_forgets_it() -> None:
    metrics = OutcomeMetrics()
    series = f'{TOTAL}{{result="kept",rule="{RULE}"}}'
    assert [shown(metrics, KEPT)[series], shown(metrics, KEPT)[series]] == [1, 1]
    assert shown(metrics, KEPT, outcome(0, 1, id="another"))[series] == 2
    assert shown(metrics)[series] == 2


def test_an_open_outcome_is_counted_once_it_is_closed() -> None:
    metrics = OutcomeMetrics()
    assert shown(metrics, OPEN) == {}
    closed = OPEN.model_copy(update={"result": Result.NOT_COMPARABLE})
    assert shown(metrics, closed) == {f'{TOTAL}{{result="not comparable",rule="{RULE}"}}': 1}


def test_the_families_have_the_type_and_labels_of_their_specs() -> None:
    families = {family.name: family for family in OutcomeMetrics().families((KEPT,))}
    assert {name: family.type for name, family in families.items()} == {
        TOTAL.removesuffix("_total"): "counter",
        RATIO: "histogram",
    }
    for spec in SPECS.values():
        family = families[spec.name.removesuffix("_total")]
        assert family.documentation == spec.help
        assert {*family.samples[0].labels} - {"le"} == {*spec.labels}
