"""From learning curves to the cells of the tables: means over runs, with their uncertainty and what failed."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayesbellman.data.datasets import TASKS
from bayesbellman.experiments.artefact import Address, Cell, Done, Plan
from bayesbellman.runs.tables import write_csv

HEADER = ("variant", "table", "task", "method", *Cell._fields)


class Curves(NamedTuple):
    """RMSE of each run that was done, at each checkpoint."""

    seeds: Int[np.ndarray, " R"]
    rmse: Float[np.ndarray, "R K"]
    missing: int
    """Runs asked for that are not there."""

    @property
    def scores(self) -> dict[str, Float[np.ndarray, " R"]]:
        """Each run's number in each of the two tables."""
        return {"final": self.rmse[:, -1], "sum": self.rmse.sum(axis=1)}


def collect_curves(plan: Plan, done: Done) -> dict[Address, Curves]:
    """By variant, task and method: the jobs' rows put together, in the order of seeds."""
    settings: dict = plan.settings
    curves = {}
    for variant in settings["variants"]:
        for task, asked in settings["runs"].items():
            jobs = sorted(name for name in done.results if name.startswith(f"{variant}.{task}."))
            if not jobs:
                continue
            parts = [done.results[name] for name in jobs]
            firsts = [int(name.rsplit(".", 1)[1]) for name in jobs]
            for method in settings["methods"]:
                rows = [part[method] for part in parts]
                seeds = [np.arange(first, first + len(row)) for first, row in zip(firsts, rows, strict=True)]
                rmse = np.concatenate(rows)
                curves[variant, task, method] = Curves(np.concatenate(seeds), rmse, asked - len(rmse))
    return curves


def all_cells(curves: Mapping[Address, Curves]) -> dict[Address, Cell]:
    """By variant, table, task and method."""
    return {
        (variant, table, task, method): make_cell(task, found, scores)
        for (variant, task, method), found in curves.items()
        for table, scores in found.scores.items()
    }


def make_cell(task: str, curves: Curves, scores: Float[np.ndarray, " R"]) -> Cell:
    """Where runs share draws of the problem, the error comes from the means per draw, since those are independent."""
    finite = np.isfinite(scores)
    kept, failed = scores[finite], int((~finite).sum()) + curves.missing
    if len(kept) == 0:
        return Cell(float("nan"), float("nan"), 0.0, 0, failed)
    mean = float(kept.mean())
    if TASKS[task].runs_per_draw is None:
        stderr = float(kept.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else float("nan")
        return Cell(mean, stderr, 0.0, len(kept), failed)
    draws = np.array([TASKS[task].draw_of(int(seed)) for seed in curves.seeds[finite]])
    groups = [kept[draws == draw] for draw in np.unique(draws)]
    several = [group for group in groups if len(group) > 1]
    if len(groups) < 2 or not several:
        return Cell(mean, float("nan"), float("nan"), len(kept), failed)
    between = float(np.var([group.mean() for group in groups], ddof=1))
    within = float(np.mean([group.var(ddof=1) for group in several]))
    # The paper's number is one draw's mean over all its runs: variance between draws, less what our few runs add to it.
    of_a_draw = max(0.0, between - within / np.mean([len(group) for group in groups])) + within / TASKS[task].runs
    return Cell(mean, float(np.sqrt(between / len(groups))), float(np.sqrt(of_a_draw)), len(kept), failed)


def write_cells(path: Path, cells: Mapping[Address, Cell]) -> None:
    write_csv(path, HEADER, [(*address, *cell) for address, cell in cells.items()])


def read_cells(folder: Path) -> dict[Address, Cell]:
    """What `write_cells` left in a folder of results."""
    path = folder / "cells.csv"
    again = f"make it with: bbo reproduce linear --out {folder}"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no cells.csv; {again}")
    cells: dict[Address, Cell] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file, strict=True)
            if tuple(next(reader, ())) != HEADER:
                raise ValueError(f"its columns should be {', '.join(HEADER)}")
            for number, row in enumerate(reader, start=2):
                address, cell = _read_row(row, number)
                if address in cells:
                    raise ValueError(f"line {number} repeats {', '.join(address)}")
                cells[address] = cell
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}; {again} --overwrite") from error
    return cells


def _read_row(row: list[str], number: int) -> tuple[Address, Cell]:
    try:
        *address, mean, stderr, spread, runs, failed = row
        return tuple(address), Cell(float(mean), float(stderr), float(spread), int(runs), int(failed))
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def published_cells(folder: Path) -> dict[Address, Cell]:
    """The cells as published, by table, task and method: those that the paper's numbers are held against."""
    return {address[1:]: cell for address, cell in read_cells(folder).items() if address[0] == "published"}
