"""The published experiments, in order."""

from lab.experiments import e1, e2, e3, e4, e5
from lab.harness.campaign import Study

EXPERIMENTS = {module.EXPERIMENT.id: module.EXPERIMENT for module in (e1, e2, e3, e4, e5)}


def studies() -> tuple[Study, ...]:
    """A study for each experiment."""
    return tuple(Study(experiment.parts, experiment.broken) for experiment in EXPERIMENTS.values())
