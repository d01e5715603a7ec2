"""E5: change buffering, none and all, with secondary indexes that fit the pool and with some that do not."""

from pathlib import Path

from lab.experiments.base import Experiment
from lab.experiments.e5.conclusion import conclude
from lab.experiments.e5.experiment import PARTS
from lab.experiments.e5.plot import draw

EXPERIMENT = Experiment(
    id="E5",
    title="Change buffering, none and all",
    folder=Path(__file__).parent,
    parts=PARTS,
    conclude=conclude,
    draw=draw,
    size=(11.0, 4.4),
)
