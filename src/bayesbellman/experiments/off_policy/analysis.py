"""Tables, the figure and the report of the off-policy study, from the runs alone."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from bayesbellman.data.datasets import TASKS
from bayesbellman.experiments.artefact import Address, Done, Plan, origin
from bayesbellman.experiments.off_policy.sweep import DATA, PRIOR_VARIANCE
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, style
from bayesbellman.runs.tables import aligned, markdown, write_csv

CURVE_HEADER = ("task", "data", "transitions", "quantity", "mean", "stderr", "runs")
COLOURS = {"value": BLUE, "ess": ORANGE, "sandwich": GREEN, "jackknife": PINK}
LABELS = {
    "value": "value width",
    "ess": "value width · √(Σw²/Σw)",
    "sandwich": "sandwich",
    "jackknife": "jackknife",
}
NAMES = ("value", "corrected", "sandwich", "jackknife")
TABLE_HEADER = ("N", "ESS / N", "RMSE", *NAMES, *(f"{name} holds" for name in NAMES))


class Runs(NamedTuple):
    """The runs of one task on one kind of data: each quantity at each size, and which seeds are not there."""

    sizes: tuple[int, ...]
    quantities: Mapping[str, Float[np.ndarray, "R K"]]
    missing: tuple[int, ...]


class Mean(NamedTuple):
    """Over the runs with a finite number."""

    mean: float
    stderr: float
    runs: int


def collect(plan: Plan, done: Done) -> dict[Address, Runs]:
    """By task and data, in the order of seeds."""
    settings: dict = plan.settings
    found = {}
    for task, asked in settings["runs"].items():
        there = {seed: done.results.get(f"{task}.{seed:05d}") for seed in range(asked)}
        results = [result for result in there.values() if result is not None]
        missing = tuple(seed for seed, result in there.items() if result is None)
        if results:
            for data in DATA:
                names = [name for name in results[0] if name.startswith(f"{data}.")]
                quantities = {name.split(".")[1]: np.stack([result[name] for result in results]) for name in names}
                found[task, data] = Runs(tuple(settings["sizes"][task]), quantities, missing)
    return found


def mean_over_runs(numbers: Float[np.ndarray, " R"]) -> Mean:
    kept = numbers[np.isfinite(numbers)]
    mean = float(kept.mean()) if len(kept) else math.nan
    stderr = float(kept.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else math.nan
    return Mean(mean, stderr, len(kept))


def curve_rows(found: Mapping[Address, Runs]) -> list[tuple]:
    """One row per task, data, size and quantity."""
    return [
        (task, data, size, quantity, *mean_over_runs(column))
        for (task, data), runs in found.items()
        for quantity, numbers in runs.quantities.items()
        for size, column in zip(runs.sizes, numbers.T, strict=True)
    ]


def draw(found: Mapping[Address, Runs]) -> Figure:
    """A column per task and data. Top: error and widths, root mean square over mu. Bottom: coverage of 90 % bands."""
    with style():
        figure = Figure(figsize=(3 * len(found) + 0.6, 6))
        panels = figure.subplots(2, len(found), squeeze=False)
        for column, ((task, data), runs) in enumerate(found.items()):
            _draw_widths(panels[0, column], task, data, runs)
            _draw_coverage(panels[1, column], runs)
        for column, (task, _) in enumerate(found):  # the panels of a task share their range
            mates = [panels[0, other] for other, (name, _) in enumerate(found) if name == task]
            limits = [axes.get_ylim() for axes in mates]
            panels[0, column].set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        panels[0, 0].set_ylabel("error and widths\n(root mean square over states)")
        panels[1, 0].set_ylabel("share of states whose\n90 % band holds the value")
        handles = dict(zip(*panels[0, 0].get_legend_handles_labels()[::-1], strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
        return figure


def _draw_widths(axes: Axes, task: str, data: str, runs: Runs) -> None:
    lines = {"rmse": ("error (RMSE)", INK, "-", 2.2), "rms_operator": ("operator width", FAINT, ":", 1.5)}
    for name, label in LABELS.items():
        lines[f"rms_{name}"] = (label, COLOURS[name], "--" if name == "ess" else "-", 1.5)
    for quantity, (label, colour, dashes, width) in lines.items():
        means = [mean_over_runs(column).mean for column in runs.quantities[quantity].T]
        axes.loglog(runs.sizes, means, color=colour, ls=dashes, lw=width, label=label)
    share = mean_over_runs(runs.quantities["ess_share"][:, -1]).mean
    kind = f"weighted, ESS = {share:.2f} N" if data == "weighted" else "data of the target policy"
    axes.set_title(f"{_title(task)}\n{kind}\n{_count(runs)}")
    _label_sizes(axes, runs)


def _draw_coverage(axes: Axes, runs: Runs) -> None:
    axes.axhline(0.9, color=FAINT, lw=1)
    for name, colour in COLOURS.items():
        means = [mean_over_runs(column) for column in runs.quantities[f"cover_{name}"].T]
        centre, error = (np.array([getattr(m, part) for m in means]) for part in ("mean", "stderr"))
        axes.semilogx(runs.sizes, centre, color=colour, ls="--" if name == "ess" else "-")
        axes.fill_between(runs.sizes, centre - error, centre + error, color=colour, alpha=0.15, lw=0)
    axes.set_ylim(min(0.5, axes.get_ylim()[0]), 1.02)
    axes.set_xlabel("transitions N")
    _label_sizes(axes, runs)


def _label_sizes(axes: Axes, runs: Runs) -> None:
    steps = (1, 3) if runs.sizes[-1] > 30 * runs.sizes[0] else (1, 2, 5)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _title(task: str) -> str:
    return TASKS[task].title.removesuffix(", off-policy")


def _count(runs: Runs) -> str:
    number = len(runs.quantities["rmse"])
    return f"{number} run{'s' if number != 1 else ''}{f', {len(runs.missing)} missing' if runs.missing else ''}"


def table_rows(runs: Runs) -> list[list[object]]:
    """The sizes, with errors, widths and coverages as text."""
    rows = []
    for k, size in enumerate(runs.sizes):
        at = {name: mean_over_runs(numbers[:, k]) for name, numbers in runs.quantities.items()}
        widths = [f"{at[f'rms_{name}'].mean:.3g}" for name in LABELS]
        covers = [f"{100 * at[f'cover_{name}'].mean:.0f} ± {100 * at[f'cover_{name}'].stderr:.0f} %" for name in LABELS]
        rows.append([size, f"{at['ess_share'].mean:.2f}", f"{at['rmse'].mean:.3g}", *widths, *covers])
    return rows


def missing_lines(plan: Plan, done: Done, found: Mapping[Address, Runs]) -> list[str]:
    """Every run that is not in the means: those that did not end, with their seeds, and those not finite somewhere."""
    settings: dict = plan.settings
    lines = []
    for task, asked in settings["runs"].items():
        seeds = found[task, DATA[0]].missing if (task, DATA[0]) in found else tuple(range(asked))
        if seeds:
            lines.append(f"{task}: {len(seeds)} of {asked} runs are missing, seeds {', '.join(map(str, seeds))}.")
    for (task, data), runs in found.items():
        for quantity, numbers in runs.quantities.items():
            if bad := int((~np.isfinite(numbers)).any(axis=1).sum()):
                lines.append(f"{task}, {data}: {quantity} is not finite in {bad} runs, which its means leave out.")
    return [*lines, *done.lacks]


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    found = collect(plan, done)
    write_csv(folder / "curves.csv", CURVE_HEADER, curve_rows(found))
    draw(found).savefig(folder / "off_policy.png")
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    titles = {at: f"{_title(at[0])}, {at[1]} data: {_count(runs)}" for at, runs in found.items()}
    missing = missing_lines(plan, done, found)
    sections = [f"## {titles[at]}\n\n{markdown(TABLE_HEADER, table_rows(runs))}\n" for at, runs in found.items()]
    report = REPORT.format(
        missing="\n".join(f"- {line}" for line in missing) or "No run is missing.",
        prior=f"{PRIOR_VARIANCE:g}",
        sections="\n".join(sections),
        origin=json.dumps(made_by, indent=2),
    )
    (folder / "report.md").write_text(report, encoding="utf-8")
    tables = [f"{titles[at]}\n{aligned(TABLE_HEADER, table_rows(runs))}\n" for at, runs in found.items()]
    return "\n".join([*tables, *missing])


REPORT = """# Off-policy evaluation: the exact posterior under importance weights

`LinearBBO` on the first N transitions of a run: of the behaviour policy, weighted, and of the target policy itself.
Prior variance {prior}, far beyond the values; noise variance from the weighted TD errors of a first fit. What the
widths are: docs/off_policy.md.

{missing}

![Error, widths and coverage against the number of transitions](off_policy.png)

Errors and widths are root mean squares over the evaluation measure mu, means over runs. *Corrected* is the value width
times √(Σw²/Σw). *Holds* is the share of mu whose 90 % band holds the true value, mean over runs ± standard error. The
states of a run err together, so a run counts little more than once. Each draw of the random MDP serves 10 runs;
standard errors treat all runs as independent. curves.csv has all quantities in full: also mean widths (`mean_`), the
noise variance, the largest weight, and (`_limit`) what infinite data would give: their effective sample size, and error
and coverage with respect to their values, the truth on the cart-pole, the projected fixed point on the random MDP.

{sections}
## Made by

```json
{origin}
```
"""
