"""What became of runs on a sparse task: rewards found, first success, whether it lasted; by run and by group."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from bayesbellman.experiments.artefact import Address, Arrays, Cell, mean_cell
from bayesbellman.experiments.statistics import bootstrap_interval, interquartile_mean, median_time
from bayesbellman.runs.tables import write_csv

LAST = 10
"""Evaluations at the end that must all be successes"""
HEADER = (
    "runs",
    "solved",
    "found a reward",
    "first reward, median",
    "rewarded episodes, median",
    "succeeded once",
    "first success, median",
    "final return, IQM",
    "95 % interval",
    "not finite",
)
SEED_HEADER = (
    "seed",
    "first reward",
    "rewarded episodes",
    "first success",
    "solved",
    "final return",
    "best return",
)


@runtime_checkable
class HasGroup(Protocol):
    @property
    def group(self) -> str: ...


Grouped = TypeVar("Grouped", bound=HasGroup)


class Outcome(NamedTuple):
    """Of one run. Steps are infinite where something never happened."""

    group: str
    seed: int
    first_reward: float
    """Step of the first reward of 1 in training"""
    rewarded_steps: int
    rewarded_episodes: int
    first_success: float
    """Step of the first evaluation above the task's ``success``"""
    sustained_from: float
    """Step of the evaluation from which on all are above it"""
    solved: bool
    """Whether the last `LAST` are"""
    final_return: float
    """Mean over those"""
    best_return: float
    finite: bool


def outcomes(found: Arrays, success: float) -> list[Outcome]:
    """Of each run, in the job's order."""
    steps, rows = np.asarray(found["steps"], float), []
    for at, (group, seed) in enumerate(zip(found["group"].tolist(), found["seed"].tolist(), strict=True)):
        returns = found["returns"][:, at]
        above = returns > success
        lasting = np.logical_and.accumulate(above[::-1])[::-1]
        rows.append(
            Outcome(
                group=str(group),
                seed=int(seed),
                first_reward=float(found["first_reward"][at]),
                rewarded_steps=int(np.sum(found["rewarded_steps"][:, at])),
                rewarded_episodes=int(np.sum(found["rewarded_episodes"][:, at])),
                first_success=float(steps[np.argmax(above)]) if above.any() else np.inf,
                sustained_from=float(steps[np.argmax(lasting)]) if lasting.any() else np.inf,
                solved=len(returns) >= LAST and bool(above[-LAST:].all()),
                final_return=float(np.mean(returns[-LAST:])),
                best_return=float(np.nanmax(returns)) if np.isfinite(returns).any() else np.nan,
                finite=bool(np.isfinite(returns[-1]) and np.isfinite(found["disagreement"][-1, at])),
            )
        )
    return rows


def by_group(runs: Iterable[Grouped]) -> dict[str, list[Grouped]]:
    groups: dict[str, list[Grouped]] = defaultdict(list)
    for run in runs:
        groups[run.group].append(run)
    return dict(groups)


def group_row(runs: Sequence[Outcome]) -> tuple:
    """Beside the name of the group: `HEADER`."""
    final = np.array([run.final_return for run in runs])
    low, high = bootstrap_interval(final)
    return (
        len(runs),
        sum(run.solved for run in runs),
        sum(np.isfinite(run.first_reward) for run in runs),
        _median([run.first_reward for run in runs]),
        f"{np.median([run.rewarded_episodes for run in runs]):,.0f}",
        sum(np.isfinite(run.first_success) for run in runs),
        _median([run.first_success for run in runs]),
        f"{interquartile_mean(final):.1f}",
        f"{low:.1f} to {high:.1f}",
        sum(not run.finite for run in runs),
    )


def _median(steps: Sequence[float]) -> str:
    middle = median_time(np.array(steps))
    return f"{middle:,.0f}" if np.isfinite(middle) else "-"


def write_runs(path: Path, runs: Sequence[Outcome]) -> None:
    """A line for each; empty where something never happened."""
    rows = []
    for run in runs:
        steps = [int(x) if np.isfinite(x) else "" for x in (run.first_reward, run.first_success, run.sustained_from)]
        counts = (run.rewarded_steps, run.rewarded_episodes)
        ends = (int(run.solved), f"{run.final_return:.2f}", f"{run.best_return:.2f}", int(run.finite))
        rows.append((run.group, run.seed, steps[0], *counts, *steps[1:], *ends))
    write_csv(path, Outcome._fields, rows)


def write_curves(path: Path, results: Iterable[Arrays], most: int = 100) -> None:
    """Of each run at most so many evaluations, the last one among them; rewards are counted from one to the next."""
    rows = []
    for found in results:
        number = len(found["steps"])
        shown = np.arange(number - 1, -1, -max(1, -(-number // most)))[::-1]
        earned = np.diff(np.cumsum(found["rewarded_steps"], axis=0)[shown], axis=0, prepend=0)
        for at, (group, seed) in enumerate(zip(found["group"].tolist(), found["seed"].tolist(), strict=True)):
            for k, row in enumerate(shown):
                numbers = (f"{found['returns'][row, at]:.2f}", f"{found['disagreement'][row, at]:.4g}")
                rows.append((group, seed, int(found["steps"][row]), *numbers, int(earned[k, at])))
    write_csv(path, ("group", "seed", "step", "return", "disagreement", "rewarded_steps"), rows)


def read_runs(folder: Path, command: str) -> list[Outcome]:
    """What `write_runs` wrote into a folder of ``bbo reproduce <command>``."""
    path = folder / "runs.csv"
    again = f"bbo reproduce {command} --out {folder}"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no runs.csv; make it with: {again}")

    def outcome(row: Mapping[str, str]) -> Outcome:
        steps = {name: float(row[name] or "inf") for name in ("first_reward", "first_success", "sustained_from")}
        counts = {name: int(row[name]) for name in ("seed", "rewarded_steps", "rewarded_episodes")}
        returns = {name: float(row[name]) for name in ("final_return", "best_return")}
        ends = {name: bool(int(row[name])) for name in ("solved", "finite")}
        return Outcome(group=row["group"], **counts, **steps, **returns, **ends)

    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [outcome(row) for row in csv.DictReader(file)]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error!r}); make it with: {again} --overwrite") from error


def whole_runs(folder: Path, command: str, steps: int) -> list[Outcome]:
    """Those of `read_runs`, if they have so many steps at least."""
    runs = read_runs(folder, command)
    refuse_shorter(folder, command, steps)
    return runs


def refuse_shorter(folder: Path, command: str, steps: int) -> None:
    """A claim about so many steps is not judged by runs that have fewer, or have not ended."""
    path = folder / "provenance.json"
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        had = int(made["settings"]["size"]["steps"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        again = f"bbo reproduce {command} --out {folder} --overwrite"
        raise ValueError(f"{path} is missing or damaged ({error!r}); make it with: {again}") from error
    if made.get("unfinished") or had < steps:
        what = "have not ended" if made.get("unfinished") else f"have {had:,} steps each"
        raise ValueError(f"runs in {folder} {what}; what is claimed of {command} is about {steps:,} steps")


def refuse_other_networks(folder: Path, command: str) -> None:
    """Of a study with networks of several widths: the paper's claims are not judged by others than its own."""
    settings = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["settings"]
    if settings["width"] != "wide":
        layers = " x ".join(map(str, settings["size"]["hidden"]))
        raise ValueError(
            f"runs in {folder} have networks of {layers}; what is claimed of {command} is about those of 256 x 256"
        )


def solved_shares(runs: Iterable[Outcome]) -> Mapping[Address, Cell]:
    """Share of the runs of each group that were solved."""
    groups = by_group(runs)
    return {(group,): mean_cell([float(run.solved) for run in runs]) for group, runs in groups.items()}


def seed_rows(runs: Iterable[Outcome]) -> list[tuple]:
    """A row for each run, in words: `SEED_HEADER`."""

    def when(step: float) -> str:
        return f"{step:,.0f}" if np.isfinite(step) else "-"

    return [
        (
            run.group,
            run.seed,
            when(run.first_reward),
            f"{run.rewarded_episodes:,}",
            when(run.first_success),
            "yes" if run.solved else "no",
            f"{run.final_return:.1f}",
            f"{run.best_return:.1f}",
        )
        for run in runs
    ]
