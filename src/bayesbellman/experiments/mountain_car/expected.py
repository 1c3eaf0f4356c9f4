"""What the paper says of MountainCar: RP-BBAC solves it on 5 of 5 seeds, BAC and SAC on none, SAC* on one.

"Solved": the mean action's return is above 90 on average over the episodes of an evaluation, at some time within the
steps of the run.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement, mean_cell
from bayesbellman.experiments.mountain_car.sweep import FULL, OWN_SEEDS, PAPER_SEEDS
from bayesbellman.experiments.sparse.outcomes import refuse_shorter

PAPER, OURS = "paper's five", "twenty more"


def expected() -> Mapping[Address, Expected]:
    def solved(least: float, rule: str, seeds: int = PAPER_SEEDS):
        return lambda cell: Judgement(cell.mean >= least and cell.runs >= seeds, f"{rule}, {seeds} seeds or more")

    def few(most: float, rule: str, seeds: int = PAPER_SEEDS):
        return lambda cell: Judgement(cell.mean <= most and cell.runs >= seeds, f"{rule}, {seeds} seeds or more")

    return {
        (PAPER, "RP-BBAC"): Expected("5 of 5", solved(1.0, "all are solved")),
        (OURS, "RP-BBAC"): Expected("-", solved(0.95, "at least 19 of 20 are solved", OWN_SEEDS)),
        (PAPER, "SAC"): Expected("0 of 5", few(0.2, "none or one is solved")),
        (OURS, "SAC"): Expected("-", few(0.2, "at most a fifth is solved", OWN_SEEDS)),
        (PAPER, "BAC"): Expected("0 of 5", few(0.2, "none or one is solved")),
        (PAPER, "SAC*"): Expected("1 of 5", few(0.6, "at most three are solved")),
    }


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of seeds that were solved."""
    path = folder / "seeds.csv"
    again = f"bbo reproduce mountain-car --out {folder}"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no seeds.csv; make it with: {again}")
    solved: dict[Address, list[float]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        try:
            for row in csv.DictReader(file):
                group = PAPER if int(row["seed"]) < PAPER_SEEDS else OURS
                solved[group, row["agent"]].append(1.0 if row["solved_at"] else 0.0)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error!r}); make it with: {again} --overwrite") from error
    refuse_shorter(folder, "mountain-car", FULL.steps)
    return {address: mean_cell(found) for address, found in solved.items()}
