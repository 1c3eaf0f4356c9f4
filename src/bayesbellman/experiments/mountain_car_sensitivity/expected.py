"""What the paper says: "relatively insensitive to the randomized prior hyperparameters in this environment, as long as
the ensemble size L >= 4".

It gives no ranges. What is asked here was written down before the study was run: 4 members or more solve MountainCar on
every seed; and so does, with 8, each prior scale and each prior weight of two decades and three, on four seeds of five.
That it is still solved in the end was added when layers of 64 had been run, where a scale of 1000 found the goal on
every seed and had lost it on all of them. The networks are the paper's. Its own numbers are on all three axes, and so
count in three of the verdicts.
"""

from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement, mean_cell
from bayesbellman.experiments.mountain_car.analysis import SOLVED
from bayesbellman.experiments.mountain_car_sensitivity.outcomes import read_runs
from bayesbellman.experiments.mountain_car_sensitivity.sweep import FULL, RANGES
from bayesbellman.experiments.sensitivity.ranges import MEMBERS, SCALE, WEIGHT
from bayesbellman.experiments.sparse.outcomes import refuse_other_networks, refuse_shorter

LEAST_SEEDS = 5
MOST = 4 / 5 - 1e-9


def expected() -> Mapping[Address, Expected]:
    def all_solved(cell: Cell) -> Judgement:
        return Judgement(cell.mean == 1 and cell.runs >= LEAST_SEEDS, "all are solved in the end, five seeds or more")

    def most_solved(cell: Cell) -> Judgement:
        rule = "four of five are solved in the end, five seeds or more"
        return Judgement(cell.mean >= MOST and cell.runs >= LEAST_SEEDS, rule)

    claims: dict[Address, Expected] = {}
    for value in RANGES.axes[MEMBERS]:
        if value >= 4:
            claims[MEMBERS, f"{value:g}"] = Expected("solves", all_solved)
    for axis in (SCALE, WEIGHT):
        for value in RANGES.axes[axis]:
            claims[axis, f"{value:g}"] = Expected("insensitive", most_solved)
    return claims


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the runs that were solved, and were so in the end."""
    groups = read_runs(folder)
    refuse_shorter(folder, "mountain-car-sensitivity", FULL.steps)
    refuse_other_networks(folder, "mountain-car-sensitivity")
    kept = {name: [run.finite and run.final_return > SOLVED for run in runs] for name, runs in groups.items()}
    shares = {name: mean_cell([float(each) for each in here]) for name, here in kept.items()}
    found: dict[Address, Cell] = {}
    for axis in RANGES.axes:
        found |= {(axis, f"{value:g}"): cell for value, cell in RANGES.along(axis, shares).items()}
    return found
