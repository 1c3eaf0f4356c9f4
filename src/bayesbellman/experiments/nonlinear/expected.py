"""What the paper claims of its figure: gradient BBO with the prior ends lowest on every task.

It prints no numbers. A claim holds when BBO ends lower on so many of the data sets that the 95 % interval of the
probability of it lies above one half.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from bayesbellman.data.nonlinear_problems import PROBLEMS
from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement
from bayesbellman.experiments.nonlinear.methods import BBO, METHODS
from bayesbellman.experiments.nonlinear.summary import share_below

OTHERS = tuple(name for name in METHODS if name != BBO)
TITLES = {"paper": "the paper's", "tuned": "tuned"}


def claim(other: str) -> str:
    return f"BBO below {other}"


def expected() -> Mapping[Address, Expected]:
    """Four claims per task, with the paper's settings and with tuned ones."""
    return {
        (title, task, claim(other)): Expected("lower", _judge)
        for title, task, other in product(TITLES.values(), PROBLEMS, OTHERS)
    }


def _judge(cell: Cell) -> Judgement:
    ours = np.zeros(cell.runs)
    theirs = np.where(np.arange(cell.runs) < round(cell.mean * cell.runs), 1.0, -1.0)
    below, low, high = share_below(ours, theirs)
    return Judgement(low > 0.5, f"lower on {below} of {cell.runs}; 95 % interval {low:.2f} to {high:.2f}, above 0.5")


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the data sets on which BBO ends lower, by settings, task and method. A diverged trial is not lower."""
    path = folder / "final.csv"
    again = f"bbo reproduce nonlinear --out {folder}"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no final.csv; make it with: {again}")
    final: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        try:
            for row in csv.DictReader(file):
                error = math.inf if row["diverged_at"] else float(row["mse"])
                final[row["settings"], row["task"], row["method"]][int(row["seed"])] = error
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error!r}); make it with: {again} --overwrite") from error
    found = {}
    for (variant, title), task, other in product(TITLES.items(), PROBLEMS, OTHERS):
        ours, theirs = (final.get((variant, task, method)) for method in (BBO, other))
        if ours and theirs:
            found[title, task, claim(other)] = _cell(ours, theirs)
    return found


def _cell(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Cell:
    """Over the data sets that both have."""
    seeds = sorted(set(ours) & set(theirs))
    share = sum(ours[seed] < theirs[seed] for seed in seeds) / len(seeds)
    return Cell(share, math.sqrt(share * (1 - share) / len(seeds)), 0.0, len(seeds), 0)
