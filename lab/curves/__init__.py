"""Reads of other pools, and of a pool that fills, by the model and by warm-ups, against pools really made so."""

from lab.curves import cold_starts, judge, measure, predict, warm_ups
from lab.harness.campaign import Study


def studies() -> tuple[Study, ...]:
    """The warm-ups through Prometheus, the cold starts, and the miss curves."""
    curves = Study(measure.parts(), judge.broken, finish=predict.with_predictions)
    return warm_ups.study(), cold_starts.study(), curves
