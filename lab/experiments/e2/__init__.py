"""E2: COUNT(*) of three tables in turn."""

from pathlib import Path

from lab.experiments.base import Experiment
from lab.experiments.e2.experiment import PARTS, conclude
from lab.experiments.e2.plot import draw

EXPERIMENT = Experiment(
    id="E2",
    title="COUNT(*) of three tables in turn",
    folder=Path(__file__).parent,
    parts=PARTS,
    conclude=conclude,
    draw=draw,
    size=(9.5, 4.6),
)
