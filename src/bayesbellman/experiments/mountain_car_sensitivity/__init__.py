"""How RP-BBAC depends on its ensemble and its prior, on sparse MountainCar (paper, "BBAC MountainCar")."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.mountain_car_sensitivity.analysis import analyse
from bayesbellman.experiments.mountain_car_sensitivity.expected import cells, expected
from bayesbellman.experiments.mountain_car_sensitivity.sweep import plan

ARTEFACT = Artefact(
    name="mountain-car-sensitivity",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("changed", "value"),
    options=("steps",),
)
"""Members, prior scale and prior weight, one at a time."""
