"""Tables, figures and report of the linear experiments, from the runs alone."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.data.datasets import TASKS
from bayesbellman.experiments import checking
from bayesbellman.experiments.artefact import Address, Cell, Done, Plan, origin
from bayesbellman.experiments.linear.cells import Curves, all_cells, collect_curves, write_cells
from bayesbellman.experiments.linear.expected import TABLES, expected
from bayesbellman.experiments.linear.methods import METHODS
from bayesbellman.experiments.linear.sweep import VARIANTS
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, ORANGE, PINK, SKY, YELLOW, style
from bayesbellman.runs.tables import markdown, write_csv

COLOURS = dict(zip(METHODS, (BLUE, FAINT, YELLOW, SKY, GREEN, PINK, ORANGE), strict=True))
CURVE_HEADER = ("variant", "task", "method", "transitions", "mean_rmse", "stderr", "runs")
TITLES = {
    "published": "As published: the benchmark's quirks, the benchmark's random numbers",
    "own-streams": "As published, with our own random numbers",
    "correct": "Correct: no quirks, our own random numbers",
}


def printed(value: float) -> str:
    """As the paper prints a cell."""
    if math.isnan(value):
        return "failed"
    for power in (10, 3):
        if value > 10**power:
            return f"> 10^{power}"
    return f"{value:.2f}"


def table(cells: Mapping[Address, Cell], variant: str, which: str, paper: bool) -> str:
    """One of the two tables: ours with standard errors, the best of a row in bold, with the paper's number below."""
    wanted, rows = expected(), []
    for task in TASKS:
        found = {m: cells[variant, which, task, m] for m in METHODS if (variant, which, task, m) in cells}
        if not found:
            continue
        best = min((round(cell.mean, 2) for cell in found.values() if cell.runs), default=math.nan)
        shown = [
            _table_cell(found.get(method), best, wanted[which, task, method].printed if paper else None)
            for method in METHODS
        ]
        rows.append([TASKS[task].title, *shown])
    return markdown(("task", *METHODS), rows)


def _table_cell(cell: Cell | None, best: float, paper: str | None) -> str:
    if cell is None:
        return "-"
    text = printed(cell.mean)
    text = f"**{text}**" if round(cell.mean, 2) == best else text
    if math.isfinite(cell.stderr) and cell.mean <= 1e3:
        text += f" ± {cell.stderr:.2g}"
    if cell.failed:
        text += f" ({cell.failed} of {cell.runs + cell.failed} failed)"
    return f"{text} (paper {paper})" if paper is not None else text


def curve_rows(curves: Mapping[Address, Curves]) -> list[tuple]:
    """The figure's data: mean over runs at each checkpoint. Runs that are not finite there are left out and counted."""
    rows = []
    for (variant, task, method), found in curves.items():
        marks = TASKS[task].checkpoints(VARIANTS[variant].quirks)
        for mark, rmse in zip(marks.tolist(), found.rmse.T, strict=True):
            kept = rmse[np.isfinite(rmse)]
            mean = float(kept.mean()) if len(kept) else math.nan
            error = float(kept.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else math.nan
            rows.append((variant, task, method, mark, f"{mean:.7g}", f"{error:.3g}", len(kept)))
    return rows


def draw(curves: Mapping[Address, Curves], variant: str) -> Figure:
    """Nine panels: RMSE, averaged over runs, against transitions seen. Axes are cut as in the paper, or higher."""
    with style():
        figure = Figure(figsize=(10, 8))
        panels = figure.subplots(3, 3).ravel()
        for axes, task in zip(panels, TASKS, strict=True):
            _draw_panel(
                axes, {m: curves[variant, task, m] for m in METHODS if (variant, task, m) in curves}, task, variant
            )
        handles = [axes.get_legend_handles_labels() for axes in panels]
        unique = {label: handle for h, labels in handles for handle, label in zip(h, labels, strict=True)}
        figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=len(METHODS))
        figure.suptitle(f"Linear policy evaluation. {TITLES[variant]}", fontsize=10)
        return figure


def _draw_panel(axes: Axes, found: Mapping[str, Curves], task: str, variant: str) -> None:
    runs = {len(curves.rmse) for curves in found.values()}
    missing = max((curves.missing for curves in found.values()), default=0)
    count = f"{min(runs)} runs" if runs else "no runs"
    diverged = {m: int((~np.isfinite(c.rmse)).any(axis=1).sum()) for m, c in found.items()}
    notes = [f"{missing} missing"] if missing else []
    notes += [f"{number} of {method} not finite" for method, number in diverged.items() if number]
    axes.set_title(f"{TASKS[task].title} ({', '.join([count, *notes])})")
    axes.set_xlabel("thousand transitions")
    axes.set_ylabel("RMSE")
    if not found:
        return
    marks = TASKS[task].checkpoints(VARIANTS[variant].quirks) / 1000
    with np.errstate(all="ignore"):
        for method, curves in found.items():
            mean = np.ma.masked_invalid(curves.rmse).mean(axis=0).filled(np.nan)
            axes.plot(marks, mean, color=COLOURS[method], label=method, lw=2.2 if method == "BBO" else 1.3)
        first = np.nanmedian([np.nanmean(curves.rmse[:, 0]) for curves in found.values()])
        last = np.array([np.nanmean(curves.rmse[:, -1]) for curves in found.values()])
    if np.isfinite(first) and first > 0:
        # The paper's cut; and what ends within ten times the usual start is shown to its end.
        highest = np.max(last, where=np.isfinite(last) & (last < 10 * first), initial=0.0)
        powers = [round(math.log10(first)), *([math.ceil(math.log10(highest))] if highest > 0 else [])]
        axes.set_ylim(0, 1.05 * 10.0 ** max(powers))


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    curves = collect_curves(plan, done)
    cells = all_cells(curves)
    variants = [variant for variant in VARIANTS if any(address[0] == variant for address in curves)]
    write_cells(folder / "cells.csv", cells)
    write_csv(folder / "curves.csv", CURVE_HEADER, curve_rows(curves))
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    sections = []
    for variant in variants:
        draw(curves, variant).savefig(folder / f"{variant}.png")
        sections.append(f"## {TITLES[variant]}\n")
        for which, title in TABLES.items():
            shown = table(cells, variant, which, paper=variant != "correct")
            sections.append(f"### {title[0].upper()}{title[1:]}\n\n{shown}\n")
        sections.append(f"![Learning curves on the nine tasks]({variant}.png)\n")
    summary = _summary(cells, done)
    report = REPORT.format(summary=summary, sections="\n".join(sections), origin=json.dumps(made_by, indent=2))
    (folder / "report.md").write_text(report, encoding="utf-8")
    return summary


def _summary(cells: Mapping[Address, Cell], done: Done) -> str:
    lines = []
    published = {address[1:]: cell for address, cell in cells.items() if address[0] == "published"}
    if published:
        verdicts = [verdict for verdict in checking.judge(expected(), published) if verdict.address in published]
        agree = sum(verdict.ok for verdict in verdicts)
        lines.append(
            f"{agree} of {len(verdicts)} cells as published agree with the paper's (bbo check linear lists them)."
        )
    correct = {address[1:]: cell for address, cell in cells.items() if address[0] == "correct"}
    random = [address for address in published if TASKS[address[1]].runs_per_draw is not None and address in correct]
    if random:
        wanted = expected()
        alike = sum(wanted[address].judge(correct[address]).agrees for address in random)
        lines.append(
            f"Of the {len(random)} cells of random MDPs, which can agree within their spread only, {alike} would agree"
            " with the correct variant's numbers too."
        )
    failed = {address: cell.failed for address, cell in cells.items() if cell.failed and address[1] == "final"}
    lines += [f"{count} runs failed: {', '.join(address)}." for address, count in failed.items()]
    lines += done.lacks
    return "\n".join(lines)


REPORT = """# Linear policy evaluation: nine tasks, seven methods

{summary}

The tables hold root mean squared errors of the estimated values, mean over independent runs ± standard error; the best
of a row is bold, ties at two decimals together. What the tasks, methods and quirks are: docs/linear_experiments.md. The
numbers in full are in cells.csv, the curves in curves.csv.

{sections}
## Made by

```json
{origin}
```
"""
