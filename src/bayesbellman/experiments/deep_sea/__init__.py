"""Deep Sea: how long an agent takes to find a treasure that chance does not find (Osband et al. 2018)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.deep_sea.analysis import analyse
from bayesbellman.experiments.deep_sea.expected import cells, expected
from bayesbellman.experiments.deep_sea.sweep import plan

ARTEFACT = Artefact(
    name="deep-sea",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("agent", "size"),
    options=("sizes",),
    source="claims",
)
"""Episodes to learn against size, and what they depend on."""
