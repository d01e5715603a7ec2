"""E4: an index build by buffer and threads."""

from pathlib import Path

from lab.experiments.base import Experiment
from lab.experiments.e4.conclusion import conclude
from lab.experiments.e4.experiment import PARTS
from lab.experiments.e4.plot import draw

EXPERIMENT = Experiment(
    id="E4",
    title="An index build by buffer and threads",
    folder=Path(__file__).parent,
    parts=PARTS,
    conclude=conclude,
    draw=draw,
    size=(9.5, 4.6),
)
