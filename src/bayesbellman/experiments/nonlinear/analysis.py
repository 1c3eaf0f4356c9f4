"""Figures, tables and the report of the non-linear study."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bayesbellman.data.nonlinear_problems import GRID, PROBLEMS
from bayesbellman.experiments.artefact import Done, Plan, origin
from bayesbellman.experiments.nonlinear.methods import BBO, DIRECT, METHODS, NO_PRIOR, TD, TDC
from bayesbellman.experiments.nonlinear.summary import Curves, curves
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, style
from bayesbellman.runs.tables import aligned, markdown, write_csv

COLOURS = {BBO: BLUE, NO_PRIOR: GREEN, DIRECT: ORANGE, TD: INK, TDC: PINK}
HEADER = ("settings", "task", "method", "trials", "diverged", "MSE median", "25 %", "75 %", "largest")


def summary_rows(found: Sequence[Curves]) -> list[tuple]:
    rows = []
    for one in found:
        low, median, high = one.quartiles()[:, -1]
        gone = int(np.sum(one.diverged >= 0))
        names = (one.variant, one.task, one.method)
        rows.append((*names, len(one.final), gone, float(median), float(low), float(high), float(one.final.max())))
    return rows


def draw(found: Sequence[Curves]) -> Figure:
    """A panel per variant and task: median and interquartile band of the mean squared error against training steps."""
    variants = list(dict.fromkeys(one.variant for one in found))
    tasks = [task for task in PROBLEMS if any(one.task == task for one in found)]
    with style():
        figure = Figure(figsize=(3.5 * len(tasks), 2.9 * len(variants) + 0.5))
        panels = figure.subplots(len(variants), len(tasks), squeeze=False)
        for row, variant in zip(panels, variants, strict=True):
            for axes, task in zip(row, tasks, strict=True):
                here = [one for one in found if (one.variant, one.task) == (variant, task)]
                _panel(axes, here, f"{PROBLEMS[task].title}, {variant} settings")
        handles = {
            label: line for axes in panels.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(METHODS) + 1)
        return figure


def _panel(axes: Axes, here: Sequence[Curves], title: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("thousands of training steps")
    axes.set_ylabel("mean squared error")
    axes.set_yscale("log")
    for one in here:
        low, median, high = (np.where(np.isfinite(part), part, np.nan) for part in one.quartiles())
        axes.plot(one.steps / 1e3, median, color=COLOURS[one.method], label=one.method)
        top = np.where(np.isfinite(high), high, np.nanmax(one.errors[np.isfinite(one.errors)]))
        axes.fill_between(one.steps / 1e3, low, top, color=COLOURS[one.method], alpha=0.15, lw=0)
    truth = here[0]
    axes.axhline(float(np.var(truth.true_values)), color=FAINT, lw=0.8, ls=":", label="best constant")
    trials = ", ".join(str(n) for n in sorted({len(one.final) for one in here}))
    gone = sum(int(np.sum(one.diverged >= 0)) for one in here)
    axes.set_title(f"{title}, n = {trials}" + (f", {gone} diverged" if gone else ""))


def draw_values(found: Sequence[Curves], task: str) -> Figure | None:
    """True values over the plane, and each method's in its trial of median final error, with the paper's settings."""
    here = [one for one in found if (one.variant, one.task) == ("paper", task) and len(one.true_values) == GRID**2]
    if not here:
        return None
    truth = here[0].true_values.reshape(GRID, GRID)
    with style():
        figure = Figure(figsize=(2.1 * (len(here) + 1), 2.4))
        panels = np.atleast_1d(figure.subplots(1, len(here) + 1))
        levels = ScalarMappable(Normalize(float(truth.min()), float(truth.max())), cmap="viridis")
        shown = [("true", truth), *((one.method, _median_values(one)) for one in here)]
        for axes, (title, values) in zip(panels, shown, strict=True):
            axes.imshow(values.T, origin="lower", extent=(-1, 1, -1, 1), norm=levels.norm, cmap=levels.cmap)
            axes.set_title(title)
            axes.set_xticks([])
            axes.set_yticks([])
        figure.colorbar(levels, ax=list(panels), shrink=0.8)
        return figure


def _median_values(one: Curves) -> np.ndarray:
    middle = int(np.argsort(one.final)[len(one.final) // 2])
    return one.values[middle].reshape(GRID, GRID)


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    found = curves(done)
    rows = summary_rows(found)
    write_csv(folder / "summary.csv", HEADER, rows)
    write_csv(
        folder / "final.csv",
        ("settings", "task", "method", "seed", "mse", "diverged_at"),
        [
            (one.variant, one.task, one.method, seed, f"{error:.6g}", int(step) if step >= 0 else "")
            for one in found
            for seed, (error, step) in enumerate(zip(one.final, one.diverged, strict=True))
        ],
    )
    write_csv(
        folder / "curves.csv",
        ("settings", "task", "method", "step", "mse_25", "mse_50", "mse_75", "diverged"),
        [
            (
                one.variant,
                one.task,
                one.method,
                int(step),
                *(f"{q:.6g}" for q in quartiles),
                int(np.sum(~np.isfinite(one.errors[at]))),
            )
            for one in found
            for at, (step, quartiles) in enumerate(zip(one.steps, one.quartiles().T, strict=True))
        ],
    )
    draw(found).savefig(folder / "nonlinear.png")
    pictures = []
    for task in PROBLEMS:
        values = draw_values(found, task)
        if values is not None:
            values.savefig(folder / f"values-{task}.png")
            pictures.append(f"![Values of {PROBLEMS[task].title}](values-{task}.png)\n")
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    notes = _notes(found, done)
    (folder / "report.md").write_text(
        REPORT.format(
            notes=notes,
            table=markdown(HEADER, rows),
            pictures="\n".join(pictures),
            origin=json.dumps(made_by, indent=2),
        ),
        encoding="utf-8",
    )
    return aligned(HEADER, rows) + ("\n" + notes if notes else "")


def _notes(found: Sequence[Curves], done: Done) -> str:
    """What went wrong, by name, and what the truth itself is uncertain by."""
    lines = done.lacks
    for one in found:
        gone = {int(seed): int(one.diverged[seed]) for seed in np.flatnonzero(one.diverged >= 0)}
        if gone:
            where = ", ".join(f"seed {seed} at step {step:,}" for seed, step in gone.items())
            lines.append(f"Diverged, {one.method} on {one.task} ({one.variant} settings): {where}.")
    for task in dict.fromkeys(one.task for one in found):
        stderr = next(one.true_stderr for one in found if one.task == task)
        if stderr.max() > 0:
            floor = float(np.mean(stderr**2))
            lines.append(
                f"The true values of {task} are means of rollouts: the true function itself would score {floor:.3g}."
            )
    return "\n".join(lines)


REPORT = """# Policy evaluation with networks

One hidden layer of 256, batches of 512, Adam, discount 0.98; each seed has a data set, a start and a sequence of
batches of its own, which all methods share. Mean squared errors of values; a diverged trial counts as infinite. What
this shows: docs/nonlinear_experiments.md.

![Median and interquartile band of the error](nonlinear.png)

{table}

{notes}

{pictures}
## Made by

```json
{origin}
```
"""
