"""Learning times against size, the exponent of their growth, and what each ablation does to them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Done, Plan, origin
from bayesbellman.experiments.deep_sea.runs import learning_times
from bayesbellman.experiments.deep_sea.sweep import BASELINE, FULL_AGENT
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, style
from bayesbellman.experiments.statistics import median_time
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = ("agent", "size", "runs", "learnt", "episodes to learn, median", "least", "most", "episodes at most", "failed")
COLOURS = {FULL_AGENT: BLUE, BASELINE: ORANGE, "no prior": GREEN, "no target parameters": PINK}


@dataclass(frozen=True)
class Group:
    """Runs of one agent at one size."""

    agent: str
    size: int
    seeds: Sequence[int]
    times: Float[np.ndarray, " runs"]
    """To learn; infinite where a run did not, or where its losses were no numbers"""
    most: int
    """Episodes that they had, or would have had if all had not learnt before"""
    failed: int = 0
    """Runs whose losses were no numbers"""

    def row(self) -> tuple:
        learnt = self.times[np.isfinite(self.times)]
        median = median_time(self.times)
        ends = (f"{learnt.min():,.0f}", f"{learnt.max():,.0f}") if len(learnt) else ("-", "-")
        shown = f"{median:,.0f}" if np.isfinite(median) else "not learnt"
        return (self.agent, self.size, len(self.times), len(learnt), shown, *ends, self.most, self.failed)


def groups(plan: Plan, done: Done) -> list[Group]:
    sizes: dict = plan.settings["size"]  # pyright: ignore[reportAssignmentType] (JSON)
    found = []
    for name, arrays in done.results.items():
        most = sizes["episodes"] if name.startswith(("boot-dqn.", "dqn.")) else sizes["ablation_episodes"]
        times = np.where(arrays["finite"], learning_times(arrays["found"]), np.inf)
        for agent in dict.fromkeys(arrays["agent"].tolist()):
            here = arrays["agent"] == agent
            seeds, failed = arrays["seed"][here].tolist(), int(np.sum(~arrays["finite"][here]))
            found.append(Group(str(agent), int(arrays["grid"]), seeds, times[here], int(most), failed))
    return found


def growth(found: Sequence[Group]) -> tuple[float, float] | None:
    """Exponent of the learning time in the size, and its standard error: least squares on the logarithms of all runs
    that learnt."""
    points = [(one.size, time) for one in found for time in one.times if np.isfinite(time)]
    if len({size for size, _ in points}) < 3:
        return None
    x, y = np.log(np.array(points, float)).T
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    left = y - y.mean() - slope * centred
    return slope, float(np.sqrt(left @ left / (len(y) - 2) / (centred @ centred)))


def draw(found: Sequence[Group]) -> Figure:
    """Episodes to learn, every run a point: by size, and of what was run at one size alone there."""
    sizes = {agent: [one.size for one in found if one.agent == agent] for agent in {one.agent for one in found}}
    by_size = [one for one in found if len(sizes[one.agent]) > 2 or one.agent == FULL_AGENT]
    others = [one for one in found if one not in by_size]
    with style():
        figure = Figure(figsize=(9.5 if by_size and others else 5.5, 3.4))
        panels = list(np.atleast_1d(figure.subplots(1, 2 if by_size and others else 1)))
        if by_size:
            _by_size(panels[0], by_size)
        if others:
            same = [one for one in by_size if one.size in {other.size for other in others}]
            _by_agent(panels[-1], sorted([*same, *others], key=lambda one: one.size))
        return figure


def _by_size(axes: Axes, found: Sequence[Group]) -> None:
    for agent in dict.fromkeys(one.agent for one in found):
        colour = COLOURS.get(agent, INK)
        here = sorted((one for one in found if one.agent == agent), key=lambda one: one.size)
        for one in here:
            _points(axes, one, float(one.size), colour)
        medians = [median_time(one.times) for one in here]
        known = [(one.size, median) for one, median in zip(here, medians, strict=True) if np.isfinite(median)]
        axes.plot(*(zip(*known, strict=True) if known else ([], [])), color=colour, label=agent)
    most, smallest = max(one.most for one in found), min(one.size for one in found)
    if 2.0**smallest < most:
        by_chance = np.linspace(smallest, np.log2(most))
        axes.plot(by_chance, 2.0**by_chance, color=FAINT, ls=":", label="by chance, $2^N$")
    axes.set_yscale("log")
    axes.set_ylim(top=2 * most)
    axes.set_xlabel("size N")
    axes.set_ylabel("episodes to learn")
    axes.legend(loc="lower right")


def _by_agent(axes: Axes, found: Sequence[Group]) -> None:
    for at, one in enumerate(found):
        _points(axes, one, float(at), COLOURS.get(one.agent, INK))
    axes.set_yscale("log")
    axes.set_xticks(range(len(found)), [f"{one.agent}, {one.size}" for one in found], rotation=40, ha="right")
    axes.set_title("at a given size")


def _points(axes: Axes, one: Group, at: float, colour: str) -> None:
    """Runs that learnt as dots; those that did not as crosses, where they were ended."""
    spread = np.linspace(-0.25, 0.25, len(one.times))
    learnt = np.isfinite(one.times)
    axes.scatter(at + spread[learnt], one.times[learnt], s=8, color=colour, alpha=0.6, lw=0)
    axes.scatter(at + spread[~learnt], np.full(int(np.sum(~learnt)), one.most), s=12, color=colour, marker="x", lw=0.8)


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    found = groups(plan, done)
    rows = [one.row() for one in found]
    write_csv(folder / "summary.csv", HEADER, rows)
    write_csv(
        folder / "runs.csv",
        ("agent", "size", "seed", "learning_time", "episodes_at_most"),
        [
            (one.agent, one.size, seed, int(time) if np.isfinite(time) else "", one.most)
            for one in found
            for seed, time in zip(one.seeds, one.times, strict=True)
        ],
    )
    if found:
        draw(found).savefig(folder / "deep-sea.png")
    fitted = growth([one for one in found if one.agent == FULL_AGENT])
    words = "" if fitted is None else f"{FULL_AGENT} learns in about N^{fitted[0]:.2f} (± {fitted[1]:.2f}) episodes."
    facts = {} if fitted is None else {"exponent": fitted[0], "exponent_stderr": fitted[1]}
    (folder / "growth.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    text = REPORT.format(
        failures=failures, table=markdown(HEADER, rows), growth=words, origin=json.dumps(made_by, indent=2)
    )
    (folder / "report.md").write_text(text, encoding="utf-8")
    return "\n".join(part for part in (aligned(HEADER, rows), words, failures) if part)


REPORT = """# Deep Sea

Episodes until the treasure has been found in one of ten (average regret below 0.9). Every run has a seed and an action
mapping of its own. A job ends when all of its runs have learnt, or after the episodes given; runs that did not learn
are crosses there. What this shows: docs/algorithms/boot_dqn.md.

![Episodes to learn against size, and of the ablations](deep-sea.png)

{failures}
{table}

{growth}

## Made by

```json
{origin}
```
"""
