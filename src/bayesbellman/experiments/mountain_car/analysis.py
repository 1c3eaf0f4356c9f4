"""Learning curves with every seed, who solved it and when, and SAC's target entropies."""

import json
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Arrays, Done, Plan, origin, slug
from bayesbellman.experiments.mountain_car.sweep import AGENTS, ENTROPIES, STUDY
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, SKY, style
from bayesbellman.experiments.statistics import bootstrap_interval, interquartile_mean, median_time
from bayesbellman.runs.tables import aligned, markdown, write_csv

SOLVED = 90.0
COLOURS = dict(zip(AGENTS, (BLUE, GREEN, ORANGE, INK, PINK, SKY), strict=True))
HEADER = (
    "agent",
    "seeds",
    "solved",
    "steps to solve, median",
    "solved at the end",
    "final return, IQM",
    "95 % interval",
    "mean",
    "not finite",
)


def first_above(steps: Int[np.ndarray, " C"], means: Float[np.ndarray, "C S"]) -> Float[np.ndarray, " S"]:
    """First evaluation with a mean return above 90; infinite where there is none."""
    above = means > SOLVED
    return np.where(above.any(axis=0), steps[np.argmax(above, axis=0)], np.inf)


def solved_at(found: Arrays) -> Float[np.ndarray, " S"]:
    return first_above(np.asarray(found["steps"]), np.mean(found["evaluations"], axis=2))


def summary_row(name: str, found: Arrays) -> tuple:
    first, final = solved_at(found), np.mean(found["evaluations"][-1], axis=1)
    low, high = bootstrap_interval(final)
    median = median_time(first)
    return (
        name,
        len(first),
        int(np.sum(np.isfinite(first))),
        f"{median:,.0f}" if np.isfinite(median) else "not within the run",
        int(np.sum(final > SOLVED)),
        f"{interquartile_mean(final):.1f}",
        f"{low:.1f} to {high:.1f}",
        f"{np.mean(final):.1f}",
        int(np.sum(~np.isfinite(final) | ~np.isfinite(found["disagreement"][-1]))),
    )


def draw(results: dict[str, Arrays]) -> Figure:
    """A panel per agent: every seed faint, the interquartile mean bold; then how many seeds are solved by when."""
    with style():
        figure = Figure(figsize=(2.4 * (len(results) + 1), 2.9))
        panels = figure.subplots(1, len(results) + 1, squeeze=False)[0]
        last = panels[-1]
        for axes, (name, found) in zip(panels, results.items(), strict=False):
            thousands, means = np.asarray(found["steps"]) / 1e3, np.mean(found["evaluations"], axis=2)
            axes.plot(thousands, means, color=COLOURS[name], lw=0.5, alpha=0.35)
            middle = [interquartile_mean(row) for row in means]
            axes.plot(thousands, middle, color=COLOURS[name], lw=2)
            axes.axhline(SOLVED, color=FAINT, lw=0.8, ls=":")
            axes.set_title(f"{name}\nn = {means.shape[1]}")  # one line would not hold every name
            axes.set_ylim(-105, 105)
            axes.set_xlabel("thousands of steps")
            first = solved_at(found)
            shares = [np.mean(first <= 1e3 * t) for t in thousands]
            last.step(thousands, shares, where="post", color=COLOURS[name], label=name)
        panels[0].set_ylabel("return of the mean action")
        last.set_title("share of seeds solved")
        last.set_xlabel("thousands of steps")
        last.set_ylim(-0.03, 1.03)
        figure.legend(*last.get_legend_handles_labels(), loc="outside lower center", ncols=len(results))
        return figure


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    results = {name: done.results[slug(name)] for name in AGENTS if slug(name) in done.results}
    rows = [summary_row(name, found) for name, found in results.items()]
    seeds = []
    for name, found in results.items():
        final = np.mean(found["evaluations"][-1], axis=1)
        for at, seed in enumerate(found["seeds"]):
            first = solved_at(found)[at]
            goals = int(np.sum(found["successes"][:, at]))
            seeds.append((name, int(seed), int(first) if np.isfinite(first) else "", f"{final[at]:.2f}", goals))
    write_csv(folder / "seeds.csv", ("agent", "seed", "solved_at", "final_return", "goals_in_training"), seeds)
    write_csv(
        folder / "curves.csv",
        ("agent", "seed", "step", "return", "disagreement"),
        [
            (
                name,
                int(seed),
                int(step),
                f"{np.mean(found['evaluations'][k, at]):.2f}",
                f"{found['disagreement'][k, at]:.3f}",
            )
            for name, found in results.items()
            for at, seed in enumerate(found["seeds"])
            for k, step in enumerate(found["steps"])
            if k % 2 == 1 or k == len(found["steps"]) - 1
        ],
    )
    write_csv(folder / "summary.csv", HEADER, rows)
    if results:
        draw(results).savefig(folder / "mountain-car.png")
    study = _study(done, folder)
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    (folder / "report.md").write_text(
        REPORT.format(
            failures=failures, table=markdown(HEADER, rows), study=study, origin=json.dumps(made_by, indent=2)
        ),
        encoding="utf-8",
    )
    return aligned(HEADER, rows) + f"\n{study}" + ("\n" + failures if failures else "")


def _study(done: Done, folder: Path) -> str:
    """SAC by target entropy: on how many seeds the goal was reached in training, and on how many it was solved."""
    found = done.results.get(slug(STUDY))
    if found is None:
        return ""
    first, goals = solved_at(found), np.sum(found["successes"], axis=0)
    header = ("target entropy", "seeds", "reached the goal in training", "solved")
    rows = []
    for entropy in ENTROPIES:
        here = found["numbers"] == entropy
        rows.append((entropy, int(here.sum()), int(np.sum(goals[here] > 0)), int(np.sum(np.isfinite(first[here])))))
    write_csv(folder / "entropies.csv", header, rows)
    return f"SAC by target entropy:\n\n{markdown(header, rows)}\n"


REPORT = """# Sparse MountainCar

Mean-action returns of the behaviour policy, every 1,000 steps; solved: above 90 on average over an evaluation's
episodes. Seeds 0 to 4 stand for the paper's five. RP-BBAC and BAC have our default recipe. What this shows:
docs/control_experiments.md.

![Returns of every seed](mountain-car.png)

{failures}
{table}

{study}
## Made by

```json
{origin}
```
"""
