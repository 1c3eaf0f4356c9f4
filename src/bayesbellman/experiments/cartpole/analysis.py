"""Learning curves with every seed, rewards found over time, and who solved it."""

from pathlib import Path

from bayesbellman.experiments.artefact import Done, Plan
from bayesbellman.experiments.cartpole.task import paper_task
from bayesbellman.experiments.sparse.study import (
    CURVES,
    FILES,
    MEDIANS,
    RECIPE,
    REWARDED,
    SOLVED,
    TABLE,
    paragraph,
    write_study,
)


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    return write_study(plan, done, folder, "agent", REPORT, paper_task)


REPORT = (
    "# Sparse cart-pole",
    paragraph("Mean-action returns of the policy that was learnt.", RECIPE, SOLVED, REWARDED, MEDIANS, FILES),
    CURVES,
    TABLE,
)
