"""The demonstration's report: returns of both agents, what they have seen, what the members think."""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bayesbellman.experiments.control_demo.sweep import ENVIRONMENT, SOLVED, AgentRun, DemoHistory
from bayesbellman.experiments.plotting import BLUE, FAINT, INK, style
from bayesbellman.experiments.state_support.pictures import draw_support
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = ("agent", "steps", "goal reached in training", "mean return at the end", "solved after")


def summary_rows(history: DemoHistory) -> list[tuple]:
    return [_row("RP-BBAC", history.bbac), _row("SAC", history.sac)]


def _row(name: str, run: AgentRun) -> tuple:
    solved = "not solved" if run.solved_at is None else f"{run.solved_at:,} steps"
    return (name, int(run.steps[-1]), f"{run.goals} times", f"{run.returns[-1].mean():.1f}", solved)


def draw(history: DemoHistory) -> Figure:
    """Left: returns of the mean action, every episode of an evaluation. Right: the ensemble's disagreement."""
    with style():
        figure = Figure(figsize=(7.5, 3.0))
        left, right = figure.subplots(1, 2)
        for name, run, colour in (("RP-BBAC", history.bbac, BLUE), ("SAC", history.sac, INK)):
            thousands = run.steps / 1e3
            left.plot(thousands, run.returns, ".", color=colour, ms=2, alpha=0.4)
            left.plot(thousands, run.returns.mean(axis=1), color=colour, label=name)
            right.semilogy(thousands, run.disagreement, color=colour, label=name)
        left.axhline(SOLVED, color=FAINT, lw=0.8, ls=":")
        left.annotate("solved", (0.01, SOLVED + 2), xycoords=("axes fraction", "data"), color=FAINT)
        left.set_ylim(-105, 112)
        left.set_title("Return of the mean action")
        right.set_title("Disagreement of the critics")
        for axes in (left, right):
            axes.set_xlabel("thousands of steps")
        left.legend(loc="lower right")
        return figure


def draw_state_support(name: str, run: AgentRun) -> Figure:
    """At the end of the warm-up, half way and at the end."""
    shown = sorted({0, len(run.steps) // 2, len(run.steps) - 1})
    return draw_support(name, [int(run.steps[k]) for k in shown], run.values[shown], run.visited)


def write_report(history: DemoHistory, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    rows = summary_rows(history)
    runs = {"rp-bbac": history.bbac, "sac": history.sac}
    write_csv(
        folder / "curve.csv",
        ("agent", "step", "mean_return", "least", "most", "disagreement"),
        [
            (name, int(step), *(f"{part(found):.3f}" for part in (np.mean, np.min, np.max)), f"{spread:.4f}")
            for name, run in runs.items()
            for step, found, spread in zip(run.steps, run.returns, run.disagreement, strict=True)
        ],
    )
    draw(history).savefig(folder / "returns.png")
    for name, run in runs.items():
        draw_state_support(name.upper(), run).savefig(folder / f"{name}-states.png")
        run.agent.save(folder / f"{name}.bbo")
    settings = history.settings
    made_by = {"settings": {**vars(settings), "hidden": settings.hidden}, "environment": ENVIRONMENT, **provenance()}
    (folder / "report.md").write_text(
        REPORT.format(
            preset=settings.preset,
            hidden=" x ".join(str(width) for width in settings.hidden),
            members=history.bbac.values.shape[1],
            episodes=settings.episodes,
            table=markdown(HEADER, rows),
            origin=json.dumps(made_by, indent=2),
        ),
        encoding="utf-8",
    )
    return aligned(HEADER, rows)


REPORT = """# RP-BBAC on sparse MountainCar

A car too weak for its hill, a reward of 100 at the top, a cost for every push. Nothing on the way says that swinging
back helps. RP-BBAC follows, episode by episode, one member of an ensemble whose prior functions disagree where there
are no data. Preset "{preset}": {members} members, hidden layers {hidden}. Solved: in two evaluations in a row the mean
action's return is above 90 on average over {episodes} episodes.

![Returns and disagreement](returns.png)

{table}

![States that RP-BBAC has seen](rp-bbac-states.png)

![States that SAC has seen](sac-states.png)

The agents are beside this page: `bayesbellman.BBAC.load("rp-bbac.bbo")`.

## Made by

```json
{origin}
```
"""
