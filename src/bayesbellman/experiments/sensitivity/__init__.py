"""How RP-BBAC depends on its ensemble and its prior, on the sparse cart-pole (paper, `fig:bbac-ablation`)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.sensitivity.analysis import analyse, cells
from bayesbellman.experiments.sensitivity.expected import expected
from bayesbellman.experiments.sensitivity.sweep import plan

ARTEFACT = Artefact(
    name="sensitivity",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("changed", "value"),
    options=("steps",),
)
"""Members, prior scale and prior weight, one at a time."""
