"""Reads by the size of the pool, predicted by the model and by warm-ups, against pools really made of each size."""

from lab.curves import judge, measure, predict, warm_ups
from lab.harness.campaign import Study


def studies() -> tuple[Study, ...]:
    """The warm-ups through Prometheus, and the miss curves."""
    return warm_ups.study(), Study(measure.parts(), judge.broken, finish=predict.with_predictions)
