"""What is claimed of the two tasks, before they were run: RP-BBAC finds the reward every time, and SAC is no better.

That deep exploration is no worse is the least that can be asked of it where rewards are sparse. Where it fails, this
says so.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement, mean_cell
from bayesbellman.experiments.sparse.baseline import SACS, better_sac
from bayesbellman.experiments.sparse.outcomes import by_group, whole_runs
from bayesbellman.experiments.sparse_tasks.sweep import FULL
from bayesbellman.experiments.sparse_tasks.tasks import TASKS

LEAST_SEEDS = 5
FOUND, SOLVED = "RP-BBAC found a reward", "RP-BBAC solved, less SAC at either rate"


def expected() -> Mapping[Address, Expected]:
    def all_of_them(cell: Cell) -> Judgement:
        return Judgement(cell.mean == 1 and cell.runs >= LEAST_SEEDS, "all runs, five seeds or more")

    def no_fewer(cell: Cell) -> Judgement:
        return Judgement(cell.mean >= 0 and cell.runs >= 2 * LEAST_SEEDS, "no fewer, five seeds or more of each")

    claims: dict[Address, Expected] = {}
    for name in TASKS:
        claims[name, FOUND] = Expected("all", all_of_them)
        claims[name, SOLVED] = Expected(">= 0", no_fewer)
    return claims


def cells(folder: Path) -> Mapping[Address, Cell]:
    """The share of RP-BBAC's runs that found a reward, and its share of solved runs less SAC's."""
    groups = by_group(whole_runs(folder, "sparse-tasks", FULL.steps))
    found: dict[Address, Cell] = {}
    for name in TASKS:
        ours, theirs = groups.get(f"{name}, RP-BBAC", []), [f"{name}, {sac}" in groups for sac in SACS]
        if ours:
            found[name, FOUND] = mean_cell([float(np.isfinite(run.first_reward)) for run in ours])
        if ours and all(theirs):
            one = mean_cell([float(run.solved) for run in ours])
            other = better_sac(groups, lambda run: float(run.solved), f"{name}, ")
            error = float(np.hypot(one.stderr, other.stderr))
            found[name, SOLVED] = Cell(one.mean - other.mean, error, 0.0, one.runs + other.runs, 0)
    return found
