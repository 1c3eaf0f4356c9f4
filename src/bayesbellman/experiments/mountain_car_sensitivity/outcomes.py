"""What became of each run on MountainCar: when it was solved, whether that lasted; written down, and read again."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesbellman.experiments.artefact import Arrays
from bayesbellman.experiments.mountain_car.analysis import SOLVED, first_above
from bayesbellman.experiments.sparse.outcomes import by_group
from bayesbellman.runs.tables import write_csv

RUNS = "runs.csv"


class Outcome(NamedTuple):
    """Of one run."""

    group: str
    seed: int
    solved_at: float
    """Step of the first evaluation with a mean return above 90; infinite where there is none"""
    lasting: float
    """Share of the evaluations after that one that are above 90 too; not a number where there are none"""
    final_return: float
    """Of the last evaluation"""
    goals: int
    """Episodes of training that reached the goal"""
    disagreement: float
    """Of the members in the end"""
    finite: bool


def outcomes(found: Arrays) -> list[Outcome]:
    """Of each run, in the job's order."""
    steps, returns = np.asarray(found["steps"]), found["returns"]
    rows = []
    for at, solved_at in enumerate(first_above(steps, returns)):
        later = returns[steps > solved_at, at] > SOLVED
        rows.append(
            Outcome(
                group=str(found["group"][at]),
                seed=int(found["seed"][at]),
                solved_at=float(solved_at),
                lasting=float(np.mean(later)) if len(later) else np.nan,
                final_return=float(returns[-1, at]),
                goals=int(np.sum(found["goals"][:, at])),
                disagreement=float(found["disagreement"][-1, at]),
                finite=bool(np.isfinite(returns[-1, at]) and np.isfinite(found["disagreement"][-1, at])),
            )
        )
    return rows


def write_runs(folder: Path, runs: list[Outcome]) -> None:
    """A line for each; empty where something never happened."""
    rows = []
    for run in runs:
        solved_at = int(run.solved_at) if np.isfinite(run.solved_at) else ""
        lasting = f"{run.lasting:.3f}" if np.isfinite(run.lasting) else ""
        ends = (f"{run.final_return:.2f}", run.goals, f"{run.disagreement:.4g}", int(run.finite))
        rows.append((run.group, run.seed, solved_at, lasting, *ends))
    write_csv(folder / RUNS, Outcome._fields, rows)


def read_runs(folder: Path) -> dict[str, list[Outcome]]:
    """What `write_runs` wrote, by group."""
    path, again = folder / RUNS, f"bbo reproduce mountain-car-sensitivity --out {folder}"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no {RUNS}; make it with: {again}")
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return by_group(
                [
                    Outcome(
                        row["group"],
                        int(row["seed"]),
                        float(row["solved_at"] or "inf"),
                        float(row["lasting"] or "nan"),
                        float(row["final_return"]),
                        int(row["goals"]),
                        float(row["disagreement"]),
                        bool(int(row["finite"])),
                    )
                    for row in csv.DictReader(file)
                ]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error!r}); make it with: {again} --overwrite") from error
