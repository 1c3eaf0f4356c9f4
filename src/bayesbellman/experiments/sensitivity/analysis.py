"""Solved runs and final returns against the number of members, the prior's scale and its weight; every run a point."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Address, Cell, Done, Plan
from bayesbellman.experiments.cartpole.task import SUCCESS, paper_task
from bayesbellman.experiments.plotting import BLUE, FAINT, INK, ORANGE, style
from bayesbellman.experiments.sensitivity.ranges import SCALE, WEIGHT
from bayesbellman.experiments.sensitivity.sweep import FULL, RANGES
from bayesbellman.experiments.sparse.outcomes import (
    Outcome,
    by_group,
    refuse_other_networks,
    solved_shares,
    whole_runs,
)
from bayesbellman.experiments.sparse.study import (
    CURVES,
    MEDIANS,
    RECIPE_OF_ONE,
    SOLVED,
    TABLE,
    paragraph,
    runs_of,
    write_study,
)

SWEET = "sweet spot"


def draw(groups: Mapping[str, Sequence[Outcome]]) -> Figure:
    """A panel for each axis: final returns, filled where a run was solved, and the share that was."""
    with style():
        figure = Figure(figsize=(9.5, 3.0))
        panels = figure.subplots(1, len(RANGES.axes), sharey=True)
        for axes, (axis, values) in zip(panels, RANGES.axes.items(), strict=True):
            here = RANGES.along(axis, groups)
            for place, value in enumerate(values):
                for offset, run in enumerate(runs := here.get(value, ())):
                    x = place + 0.12 * (offset - (len(runs) - 1) / 2)
                    axes.plot(x, run.final_return, "o", ms=5, color=BLUE, mfc=BLUE if run.solved else "white")
                if runs:
                    share = f"{sum(run.solved for run in runs)}/{len(runs)}"
                    axes.annotate(share, (place, 1.0), xycoords=("data", "axes fraction"), ha="center", color=INK)
            axes.axhline(SUCCESS, color=FAINT, lw=0.8, ls=":")
            axes.axvline(values.index(RANGES.paper[axis]), color=ORANGE, lw=0.8, ls=":")
            axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
            axes.set_xlabel(axis)
        panels[0].set_ylabel("final return")
        return figure


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    groups = by_group(runs_of(plan, done, paper_task))
    steps = max((int(found["steps"][-1]) for found in done.results.values()), default=0)
    report = [part.replace("{steps}", f"{steps:,}") for part in REPORT]
    return write_study(plan, done, folder, "changed", report, paper_task, {"sensitivity.png": draw(groups)})


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the runs that were solved; and how far the paper's value within an axis is ahead of both its ends."""
    runs = whole_runs(folder, "sensitivity", FULL.steps)
    refuse_other_networks(folder, "sensitivity")
    shares = {address[0]: cell for address, cell in solved_shares(runs).items()}
    found: dict[Address, Cell] = {}
    for axis, values in RANGES.axes.items():
        here = RANGES.along(axis, shares)
        found |= {(axis, f"{value:g}"): cell for value, cell in here.items()}
        if axis in (SCALE, WEIGHT) and len(here) == len(values):
            inside = here[RANGES.paper[axis]]
            end = max((here[values[0]], here[values[-1]]), key=lambda cell: cell.mean)
            error = float(np.hypot(inside.stderr, end.stderr))
            found[axis, SWEET] = Cell(inside.mean - end.mean, error, 0.0, sum(cell.runs for cell in here.values()), 0)
    return found


REPORT = (
    "# What RP-BBAC's prior and ensemble are worth on the sparse cart-pole",
    paragraph(
        "One number changed at a time from the paper's 8 members, prior scale 32 and prior weight 3e-5 (`members 8`).",
        RECIPE_OF_ONE,
        "Runs have {steps} steps; what the paper says is about 3,000,000.",
        SOLVED,
        "A reward is found where a step of training earns the 1.",
        MEDIANS,
    ),
    "![Final returns of every run; filled: solved](sensitivity.png)",
    TABLE,
    CURVES,
)
