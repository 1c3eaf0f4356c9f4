"""What is claimed of the stock reward, before it was run: RP-BBAC finds it every time, SAC's success is luck.

The paper does not have this reward; published results of others have SAC succeed on some seeds and fail on others.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement, mean_cell
from bayesbellman.experiments.cartpole_stock.sweep import FULL
from bayesbellman.experiments.sparse.baseline import SAC, SAC_AT_OURS, SACS, better_sac
from bayesbellman.experiments.sparse.outcomes import by_group, whole_runs

LEAST_SEEDS = 5
FOUND, SOLVED, AHEAD = "found a reward", "solved", "final return, more than SAC's at either rate"


def expected() -> Mapping[Address, Expected]:
    def all_of_them(cell: Cell) -> Judgement:
        return Judgement(cell.mean == 1 and cell.runs >= LEAST_SEEDS, "all runs, five seeds or more")

    def not_all(cell: Cell) -> Judgement:
        return Judgement(cell.mean < 1 and cell.runs >= LEAST_SEEDS, "not all runs, five seeds or more")

    def more(cell: Cell) -> Judgement:
        return Judgement(cell.mean > 2 * cell.stderr, "by more than two standard errors")

    return {
        ("RP-BBAC", FOUND): Expected("all", all_of_them),
        ("RP-BBAC", AHEAD): Expected("> 0", more),
        (SAC, SOLVED): Expected("not all", not_all),
        (SAC_AT_OURS, SOLVED): Expected("not all", not_all),
    }


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Of each agent the share of runs that found a reward and that were solved; how far RP-BBAC is ahead of SAC."""
    groups = by_group(whole_runs(folder, "cartpole-stock", FULL.steps))
    found: dict[Address, Cell] = {}
    for group, runs in groups.items():
        found[group, FOUND] = mean_cell([float(np.isfinite(run.first_reward)) for run in runs])
        found[group, SOLVED] = mean_cell([float(run.solved) for run in runs])
    if {"RP-BBAC", *SACS} <= set(groups):
        ours = mean_cell([run.final_return for run in groups["RP-BBAC"]])
        theirs = better_sac(groups, lambda run: run.final_return)
        error = float(np.hypot(ours.stderr, theirs.stderr))
        runs, failed = ours.runs + theirs.runs, ours.failed + theirs.failed
        found["RP-BBAC", AHEAD] = Cell(ours.mean - theirs.mean, error, 0.0, runs, failed)
    return found
