"""A training run's figure, table and report, from the files of its seeds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.experiments.plotting import BLUE, FAINT, ORANGE, style
from bayesbellman.experiments.training.plan import CURVE, METRICS, REPORT, SUMMARY, Ended
from bayesbellman.experiments.training.reading import read_pieces
from bayesbellman.runs.tables import aligned, markdown, write_csv
from bayesbellman.runs.whole_files import write_text

HEADER = (
    "seed", "ended", "steps", "seconds", "episodes", "evaluations", "last_evaluation", "best_evaluation", "best_steps",
)  # fmt: skip


class Curve(NamedTuple):
    """What a seed's metrics say: evaluations, and training returns at the step where their piece ended."""

    seed: int
    steps: int
    seconds: float
    evaluated: np.ndarray
    evaluations: np.ndarray
    played: np.ndarray
    returns: np.ndarray


def read_curve(seed: int, folder: Path) -> Curve:
    """Of a run that may not have ended, or not have begun."""
    pieces = read_pieces(folder / METRICS)
    tested = [(piece["steps"], piece["evaluation"]["mean"]) for piece in pieces if "evaluation" in piece]
    played = [(piece["steps"], value) for piece in pieces for value in piece["returns"]]
    tested_at, means = np.array(tested, float).reshape(-1, 2).T  # None, of a number that was not finite, becomes nan
    played_at, returns = np.array(played, float).reshape(-1, 2).T
    last = pieces[-1] if pieces else {"steps": 0, "seconds": 0.0}
    return Curve(seed, last["steps"], last["seconds"], tested_at, means, played_at, returns)


def summary_row(curve: Curve, ended: Ended | None) -> tuple:
    """As `HEADER` says; empty where there was no evaluation."""
    last = best = at = ""
    if np.isfinite(curve.evaluations).any():
        place = int(np.nanargmax(curve.evaluations))
        last, best, at = float(curve.evaluations[-1]), float(curve.evaluations[place]), int(curve.evaluated[place])
    how = "not begun" if ended is None else ended.how
    counts = (len(curve.returns), len(curve.evaluations))
    return (curve.seed, how, curve.steps, curve.seconds, *counts, last, best, at)


def median_curve(curves: list[Curve]) -> tuple[np.ndarray, np.ndarray]:
    """The median of evaluations at the steps at which every one of the seeds was evaluated."""
    tables = [dict(zip(c.evaluated.tolist(), c.evaluations.tolist(), strict=True)) for c in curves]
    steps = sorted(set.intersection(*(set(table) for table in tables))) if tables else []
    medians = [float(np.median([table[step] for table in tables])) for step in steps]
    return np.array(steps), np.array(medians)


def draw(curves: list[Curve], title: str) -> Figure:
    """Evaluations as lines, one a seed, with their median if there are several; training returns as dots."""
    with style():
        figure = Figure(figsize=(7, 4))
        axes = figure.subplots()
        evaluated = [curve for curve in curves if len(curve.evaluations)]
        _draw_curves(axes, curves, several=len(curves) > 1)
        if len(evaluated) > 1:
            axes.plot(*median_curve(evaluated), color=BLUE, lw=2.5, label=f"median of {len(evaluated)} seeds")
        axes.set(xlabel="steps", ylabel="return of an episode", title=title, xlim=(0, None))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best", fontsize=8)
        else:
            axes.text(0.5, 0.5, "no episode has ended", ha="center", transform=axes.transAxes, color=FAINT)
        return figure


def _draw_curves(axes: Axes, curves: list[Curve], *, several: bool) -> None:
    first = {"evaluation": "evaluation, each seed" if several else "evaluation", "training": "training episodes"}
    for curve in curves:
        if len(curve.returns):
            axes.plot(
                curve.played, curve.returns, ".", ms=3, alpha=0.4, color=ORANGE, label=first.pop("training", None)
            )
        if len(curve.evaluations):
            look: dict[str, Any] = {"lw": 0.8, "alpha": 0.6} if several else {}
            label = first.pop("evaluation", None)
            axes.plot(curve.evaluated, curve.evaluations, ".-", ms=4, color=BLUE, label=label, **look)


def summary(folders: Mapping[int, Path], ended: Mapping[int, Ended]) -> str:
    """What to print of a run: a line for each seed."""
    rows = [summary_row(read_curve(seed, folder), ended.get(seed)) for seed, folder in folders.items()]
    return aligned(HEADER, rows)


def write_report(out: Path, config: Mapping[str, Any], folders: Mapping[int, Path], ended: Mapping[int, Ended]) -> str:
    """Figure, table and a page with both; returns what to print."""
    curves = [read_curve(seed, folder) for seed, folder in folders.items()]
    rows = [summary_row(curve, ended.get(curve.seed)) for curve in curves]
    write_csv(out / SUMMARY, HEADER, rows)
    name = f"{config['agent']} on {config['env']}"
    shown = sum(len(curve.evaluations) > 0 for curve in curves)
    seeds = f"n = {shown} seed{'s' if shown != 1 else ''}" + (f" of {len(curves)}" if shown < len(curves) else "")
    episodes = config["run"]["episodes"]
    draw(curves, f"{name}, {seeds}; an evaluation is the mean of {episodes} episodes").savefig(out / CURVE)
    remarks = [f"- seed {seed} {end.how}: {end.words}" for seed, end in ended.items() if end.words]
    remarks += [f"- seed {seed} was not begun" for seed in folders if seed not in ended]
    text = PAGE.format(
        name=name,
        seeds=seeds,
        episodes=episodes,
        path=config["path"],
        device=config["device"],
        table=markdown(HEADER, rows),
        remarks="\n".join(["", *remarks, ""]) if remarks else "",
        settings=markdown(("setting", "value"), list(config["settings"].items())),
        where="RUN" if len(curves) == 1 else f"RUN/{next(iter(folders.values())).name}",
        origin=json.dumps(config["provenance"], indent=2),
    )
    write_text(out / REPORT, text)  # the last: where it is, all is
    return aligned(HEADER, rows)


PAGE = """# {name}

![Return of an episode against steps]({curve})

{seeds}. An evaluation is the mean return of {episodes} episodes with the action believed best; dots are the episodes of
training, at the end of the up to 1,000 steps in which they ended. The environment is {path}. Device: {device}.

{table}
{remarks}
`bbo evaluate {where}` plays the agent as it was at the end, and with `--best` as it was at its best evaluation. The
best of many evaluations flatters.

## Settings

{settings}

## Made by

```json
{origin}
```
""".replace("{curve}", CURVE)
