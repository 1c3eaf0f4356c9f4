"""Sparse MountainCar: who finds the goal (paper, `fig:bbac-results`)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.mountain_car.analysis import analyse
from bayesbellman.experiments.mountain_car.expected import cells, expected
from bayesbellman.experiments.mountain_car.sweep import plan

ARTEFACT = Artefact(
    name="mountain-car",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("seeds", "agent"),
    options=("steps",),
)
"""Learning curves of the agents, and the study of SAC's target entropy."""
