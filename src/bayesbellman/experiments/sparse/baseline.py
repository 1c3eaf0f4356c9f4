"""The baseline of every study of a sparse task: SAC at the paper's learning rate, and at that of our RP-BBAC."""

import math
from collections.abc import Callable, Mapping, Sequence

from bayesbellman.control.bbac import RECIPES
from bayesbellman.experiments.artefact import Cell, mean_cell
from bayesbellman.experiments.sparse.outcomes import Outcome

SAC, SAC_AT_OURS = "SAC", "SAC, learning rate 0.001"
SACS: dict[str, tuple[str, dict[str, float]]] = {
    SAC: ("sac", {"learning_rate": RECIPES["paper"]["learning_rate"]}),
    SAC_AT_OURS: ("sac", {"learning_rate": RECIPES["ours"]["learning_rate"]}),
}
"""The program of each, and its floats"""


def better_sac(groups: Mapping[str, Sequence[Outcome]], score: Callable[[Outcome], float], before: str = "") -> Cell:
    """The score of the one with the larger mean; ``before``: how names of groups begin."""
    found = [mean_cell([score(run) for run in groups[before + name]]) for name in SACS if before + name in groups]
    return max(found, key=lambda cell: -math.inf if math.isnan(cell.mean) else cell.mean)
