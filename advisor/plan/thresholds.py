"""When to take a change back, and when it is done: the prediction's interval, on the series of /metrics. Pure.

Every expression keeps the labels that Prometheus gave to a server's series, so that one rule serves many servers. Rates
look back over five minutes, the length of a window of the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from advisor.contract.plan import Threshold
from advisor.contract.recommendation import Effect, Recommendation, about, tidy
from advisor.contract.templates import value_text
from advisor.facts.base import over_pools, ratio
from advisor.facts.scans import scans
from advisor.ledger.comparison import matters
from advisor.ledger.grading import AT_MOST, IN_ALL, PART, UNSTATED_ERROR, measurable
from advisor.ledger.reading import CHECKPOINT_AGE, MERGES, READ, READ_A_SCAN, READ_UNIT, SECONDS_PER_COUNT
from advisor.observe.window import Window
from advisor.pool.trials import OTHERS

_READ = "sum without (pool) (rate(innodb_buffer_pool_pages_read_total[5m]))"
_SERIES: Mapping[str, str] = {
    READ: _READ,
    AT_MOST: _READ,
    MERGES: "rate(innodb_ibuf_merges_total[5m])",
    CHECKPOINT_AGE: "innodb_checkpoint_age_bytes",
    "pages written per second": "sum without (pool) (rate(innodb_buffer_pool_pages_written_total[5m]))",
    "buffer pool pages used by the change buffer": "innodb_ibuf_size_pages",
}
"""By quantity of the whole server, the expression that has its value."""


def abort_when(finding: Recommendation, window: Window, *, restarts: bool) -> Iterator[Threshold]:
    """What says that the change is to be taken back.

    Args:
        finding: Whose changes are planned.
        window: Of the server before them.
        restarts: Whether members restart for them.
    """
    if restarts:
        yield Threshold(
            what="A member does not come back, or its sidecar does not reach it: leave the others as they are.",
            promql="innodb_up == 0",
        )
    settings = "|".join(change.setting for change in finding.changes)
    yield Threshold(
        what="change-did-harm is found: by the same work, reads or waits of others rose by more than chance.",
        promql=f'innodb_advisor_recommendation{{rule="change-did-harm",setting=~"{settings}"}} == 1',
    )
    for effect in (finding.effect, finding.cost, finding.others):
        threshold = None if effect is None else _beyond(effect, finding.subject, window)
        if threshold is not None:
            yield threshold


def done_when(finding: Recommendation, at: float) -> tuple[Threshold, ...]:
    """What says that the change did what it was made for.

    Args:
        finding: Whose changes are planned.
        at: The newest snapshot's time, Unix seconds: outcomes from then on count.
    """
    effect = finding.effect
    labels = f"rule={_text(finding.rule)},subject={_text(about(finding.subject))}"
    gone = Threshold(
        what=f"{finding.rule} no longer finds it; it clears five minutes after its condition does.",
        promql=f"absent(innodb_advisor_recommendation{{{labels}}})",
    )
    if effect is None or effect.now is None or not measurable(effect.quantity):
        return (gone,)
    kept = f'innodb_advisor_outcomes_total{{rule={_text(finding.rule)},result="kept"}}'
    outcome = Threshold(
        what=f"The ledger closes the outcome as kept: {effect.quantity} is {_interval(effect)}, by the same work, over "
        "three windows of five minutes once the pool has settled. "
        f"innodb-advisor receipt {finding.fingerprint} says so.",
        promql=f"{kept} > ({kept} @ {at:.3f} or {kept} * 0)",
    )
    return gone, outcome


def highest(effect: Effect) -> float:
    """The high end of what is predicted: the stated error, or what the ledger allows one that states none."""
    predicted, now = float(effect.predicted), abs(float(effect.now or 0.0))
    if effect.quantity in (OTHERS, AT_MOST):  # the worst of what explains the load
        return predicted + matters(READ_UNIT, predicted)
    if effect.error is None:
        return predicted + UNSTATED_ERROR * max(now, predicted)
    return predicted + float(effect.error) * now


def _interval(effect: Effect) -> str:
    return f"at most {_shown(highest(effect), effect.unit)} ({_shown(float(effect.predicted), effect.unit)} predicted)"


def _beyond(effect: Effect, subject: Mapping[str, str], window: Window) -> Threshold | None:
    """The quantity is above its interval; None where no series has it."""
    high = highest(effect)
    watched = _expression(effect, high, subject, window)
    if watched is None:
        return None
    expression, bound = watched
    rate = " The expression has the pages a second at the scans of today." if effect.quantity == READ_A_SCAN else ""
    return Threshold(
        what=f"Once the pool has settled, this stays above {_shown(high, effect.unit)}: {effect.quantity} "
        f"({_shown(float(effect.predicted), effect.unit)} predicted"
        + (")." if effect.now is None else f", {_shown(float(effect.now), effect.unit)} today).")
        + rate,
        promql=f"{expression} > {bound:.6g}",
    )


def _expression(effect: Effect, high: float, subject: Mapping[str, str], window: Window) -> tuple[str, float] | None:
    """What to watch in PromQL, and its bound; None where no series has the quantity."""
    if effect.quantity in _SERIES:
        return _SERIES[effect.quantity], high
    read = ratio(window.delta(over_pools("pages_read")), window.seconds)
    table = ",".join(f"{name}={_text(subject[name])}" for name in ("schema", "table") if name in subject)
    of_table = f"rate(innodb_table_file_reads_total{{{table}}}[5m])"
    match effect.quantity:
        case str(quantity) if quantity == IN_ALL and window.seconds:
            return _READ, high / window.seconds
        case str(quantity) if quantity == PART and read is not None and effect.now is not None:
            return _READ, read - float(effect.now) + high  # nobody counts these reads alone
        case str(quantity) if quantity == OTHERS and table:
            return f"{_READ} - ignoring (schema, table) {of_table}", high
        case str(quantity) if quantity == READ_A_SCAN and table:
            passes = next((scan.passes for scan in scans(window) if scan.subject == subject), None)
            a_second = ratio(passes, window.seconds)
            return None if a_second is None else (of_table, high * a_second)
        case str(quantity) if quantity == SECONDS_PER_COUNT and table:
            spent, counts = (f"rate(innodb_count_star_{name}{{{table}}}[5m])" for name in ("seconds_total", "total"))
            return f"{spent} / {counts}", high
        case _:
            return None


def _shown(value: float, unit: str) -> str:
    """A number for people; the quantity before it names its unit, but for bytes."""
    return value_text(tidy(value), unit)


def _text(value: str) -> str:
    """A text as PromQL quotes it."""
    return json.dumps(value, ensure_ascii=False)
