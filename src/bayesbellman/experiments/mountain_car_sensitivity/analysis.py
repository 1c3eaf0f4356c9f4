"""Steps to solve MountainCar, and returns in the end, against members, prior scale and weight; every run a point."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Done, Plan, origin
from bayesbellman.experiments.mountain_car.analysis import SOLVED
from bayesbellman.experiments.mountain_car.sweep import EVERY
from bayesbellman.experiments.mountain_car_sensitivity.outcomes import Outcome, outcomes, write_runs
from bayesbellman.experiments.mountain_car_sensitivity.sweep import RANGES
from bayesbellman.experiments.plotting import BLUE, FAINT, INK, ORANGE, style
from bayesbellman.experiments.sparse.outcomes import by_group
from bayesbellman.experiments.sparse.study import RECIPE_OF_ONE, in_order, paragraph
from bayesbellman.experiments.statistics import interquartile_mean, median_time
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = (
    "changed",
    "runs",
    "solved",
    "steps to solve, median",
    "of evaluations after that, above 90",
    "solved at the end",
    "final return, IQM",
    "goals in training, median",
    "disagreement in the end",
    "not finite",
)


def group_row(group: str, runs: Sequence[Outcome]) -> tuple:
    """Of `HEADER`."""
    final, apart = np.array([run.final_return for run in runs]), [run.disagreement for run in runs]
    median = median_time(np.array([run.solved_at for run in runs]))
    lasting = [run.lasting for run in runs if np.isfinite(run.lasting)]
    return (
        group,
        len(runs),
        sum(np.isfinite(run.solved_at) for run in runs),
        f"{median:,.0f}" if np.isfinite(median) else "not within the run",
        f"{100 * np.mean(lasting):.1f} %" if lasting else "-",
        int(np.sum(final > SOLVED)),
        f"{interquartile_mean(final):.1f}",
        f"{np.median([run.goals for run in runs]):,.0f}",
        f"{min(apart):.2g} to {max(apart):.2g}",
        sum(not run.finite for run in runs),
    )


def draw(groups: Mapping[str, Sequence[Outcome]], steps: int) -> Figure:
    """A column for each axis. Above: when each run was solved, open and beyond the end where it was not, and how many
    were; below: its return in the end."""
    with style():
        figure = Figure(figsize=(9.5, 4.6))
        panels = figure.subplots(2, len(RANGES.axes), sharey="row", sharex="col")
        never = 1.6 * steps
        for (above, below), (axis, values) in zip(panels.T, RANGES.axes.items(), strict=True):
            here = RANGES.along(axis, groups)
            for place, value in enumerate(values):
                runs = here.get(value, ())
                for offset, run in enumerate(runs):
                    x, solved = place + 0.12 * (offset - (len(runs) - 1) / 2), bool(np.isfinite(run.solved_at))
                    look = {"ms": 5, "color": BLUE, "mfc": BLUE if solved else "white"}
                    above.plot(x, run.solved_at if solved else never, "o", **look)
                    below.plot(x, run.final_return, "o", **look)
                if runs:
                    share = f"{sum(np.isfinite(run.solved_at) for run in runs)}/{len(runs)}"
                    above.annotate(share, (place, 1.02), xycoords=("data", "axes fraction"), ha="center", color=INK)
            above.axhline(steps, color=FAINT, lw=0.8, ls=":")
            below.axhline(SOLVED, color=FAINT, lw=0.8, ls=":")
            for axes in (above, below):
                axes.axvline(values.index(RANGES.paper[axis]), color=ORANGE, lw=0.8, ls=":")
            below.set_xticks(range(len(values)), [f"{value:g}" for value in values])
            below.set_xlabel(axis)
        panels[0, 0].set_yscale("log")
        panels[0, 0].set_ylim(0.9 * EVERY, 2 * never)
        panels[0, 0].set_ylabel("solved after, steps")
        panels[1, 0].set_ylabel("final return")
        return figure


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    results = in_order(plan, done)
    runs = [run for found in results.values() for run in outcomes(found)]
    groups = by_group(runs)
    rows = [group_row(group, here) for group, here in groups.items()]
    steps = max((int(found["steps"][-1]) for found in results.values()), default=0)
    size: Any = plan.settings["size"]
    layers = " x ".join(map(str, size["hidden"]))
    write_csv(folder / "summary.csv", HEADER, rows)
    write_runs(folder, runs)
    write_csv(
        folder / "curves.csv",
        ("group", "seed", "step", "return", "disagreement"),
        [
            (
                group,
                seed,
                int(step),
                f"{found['returns'][k, at]:.2f}",
                f"{found['disagreement'][k, at]:.4g}",
            )
            for found in results.values()
            for at, (group, seed) in enumerate(zip(found["group"].tolist(), found["seed"].tolist(), strict=True))
            for k, step in enumerate(found["steps"])
        ],
    )
    if groups:
        draw(groups, steps).savefig(folder / "sensitivity.png")
    seconds = {name: round(float(found["seconds"]), 1) for name, found in results.items()}
    made_by = {**origin(plan, done), "job_seconds": seconds}
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    text = "\n\n".join(REPORT).format(
        steps=f"{steps:,}",
        layers=layers,
        failures=failures,
        table=markdown(HEADER, rows),
        minutes=f"{done.seconds / 60:.1f}",
        origin=json.dumps(made_by, indent=2),
    )
    (folder / "report.md").write_text(text, encoding="utf-8")
    return "\n".join(part for part in (aligned(HEADER, rows), failures) if part)


REPORT = (
    "# What RP-BBAC's prior and ensemble are worth on sparse MountainCar",
    paragraph(
        "One number changed at a time from the paper's 8 members, prior scale 100 and prior weight 3e-5 (`members 8`).",
        RECIPE_OF_ONE,
        "Networks are {layers}, runs have {steps} steps; the paper's networks are 256 x 256, its runs have 100,000.",
        "Solved: the mean action's return is above 90 on average over the episodes of an evaluation, one every 1,000",
        "steps. Medians are over runs, `not within the run` where fewer than half of them came so far.",
        "All runs are in runs.csv, their curves in curves.csv.",
    ),
    "![When each run was solved, and its return in the end; open: not solved](sensitivity.png)",
    """{failures}
{table}""",
    """## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
""",
)
