"""E1: COUNT(*) by 1 to 32 parallel readers."""

from pathlib import Path

from lab.experiments.base import Experiment
from lab.experiments.e1.conclusion import conclude
from lab.experiments.e1.experiment import PARTS
from lab.experiments.e1.plot import draw

EXPERIMENT = Experiment(
    id="E1",
    title="COUNT(*) by 1 to 32 parallel readers",
    folder=Path(__file__).parent,
    parts=PARTS,
    conclude=conclude,
    draw=draw,
    size=(9.5, 4.2),
)
