"""Every lever beside the base: rewards found, first success, final return, and where its first run has been."""

from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Done, Expected, Plan
from bayesbellman.experiments.cartpole.task import paper_task
from bayesbellman.experiments.sparse.outcomes import read_runs, solved_shares
from bayesbellman.experiments.sparse.study import (
    CURVES,
    FILES,
    MEDIANS,
    REWARDED,
    SOLVED,
    TABLE,
    paragraph,
    write_study,
)


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    return write_study(plan, done, folder, "lever", REPORT, paper_task)


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the runs that were solved."""
    return solved_shares(read_runs(folder, "cartpole-levers"))


def expected() -> Mapping[Address, Expected]:
    """The paper has no such study."""
    return {}


REPORT = (
    "# Levers of exploration on the sparse cart-pole",
    paragraph(
        "RP-BBAC with one thing changed at a time. `base` has the paper's learning rate and an entropy bonus of 1;",
        "with `--variants ours` it is the default recipe.",
        SOLVED,
        REWARDED,
        MEDIANS,
        FILES,
    ),
    TABLE,
    CURVES,
)
