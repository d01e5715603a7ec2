"""The published experiments, in order."""

from lab.experiments import e1, e2, e3, e4, e5

EXPERIMENTS = {module.EXPERIMENT.id: module.EXPERIMENT for module in (e1, e2, e3, e4, e5)}
