"""E3: The same SELECT over and over."""

from pathlib import Path

from lab.experiments.base import Experiment
from lab.experiments.e3.experiment import PARTS, conclude
from lab.experiments.e3.plot import draw

EXPERIMENT = Experiment(
    id="E3",
    title="The same SELECT over and over",
    folder=Path(__file__).parent,
    parts=PARTS,
    conclude=conclude,
    draw=draw,
    size=(9.5, 4.6),
)
