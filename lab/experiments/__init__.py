"""The published experiments, in order."""

from lab.experiments import e1, e2, e3, e4, e5

EXPERIMENTS = {each.id: each for each in (e1.EXPERIMENT, e2.EXPERIMENT, e3.EXPERIMENT, e4.EXPERIMENT, e5.EXPERIMENT)}
