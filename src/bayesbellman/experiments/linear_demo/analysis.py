"""The demonstration's figure, tables and report, from its history alone."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.experiments.linear_demo.sweep import DemoHistory
from bayesbellman.experiments.plotting import BLUE, INK, ORANGE, style
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown, write_csv

Z95 = 1.959964
CURVE_HEADER = ("transitions", "rmse", "mean_std_operator", "mean_std_value", "states_in_95_band")
STATE_HEADER = ("state", "true_value", "estimate", "std_operator", "std_value")


def curve_rows(history: DemoHistory) -> list[tuple]:
    """One row per checkpoint: the error, the widths, and in how many states the 95 % value band holds the truth."""
    inside = np.abs(history.values - history.truth) <= Z95 * history.value_std
    columns = (
        history.checkpoints,
        history.rmse,
        history.operator_std @ history.visits,
        history.value_std @ history.visits,
        inside.sum(axis=1),
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def state_rows(history: DemoHistory) -> list[tuple]:
    """One row per state: the truth and the final estimate."""
    final = (history.values[-1], history.operator_std[-1], history.value_std[-1])
    return [
        (state, *numbers)
        for state, numbers in enumerate(zip(history.truth.tolist(), *(f.tolist() for f in final), strict=True))
    ]


def draw(history: DemoHistory) -> Figure:
    """Top: value estimates with their bands after a few to all transitions. Bottom: error and widths on the way."""
    with style():
        figure = Figure(figsize=(9, 5.6))
        axes = figure.subplot_mosaic([["a", "b", "c", "d"], ["curve"] * 4], height_ratios=[1.25, 1])
        last = len(history.checkpoints) - 1
        shown = [int(np.searchsorted(history.checkpoints, n)) for n in (5, 20, 100)]
        for name, k in zip("abcd", [*(min(k, last) for k in shown), last], strict=True):
            _draw_values(axes[name], history, k)
        low = min(history.truth.min(), (history.values - Z95 * history.value_std)[shown[1] :].min(initial=0.0)) - 2
        for name in "abcd":
            axes[name].set_ylim(low, 18)
            if name != "a":
                axes[name].set_yticklabels([])
        axes["a"].set_ylabel("value")
        axes["d"].legend(loc="upper left", fontsize=7)
        _draw_curve(axes["curve"], history)
        figure.suptitle("Boyan chain: the posterior closes on the true values as transitions arrive", fontsize=10)
        return figure


def _draw_values(axes: Axes, history: DemoHistory, k: int) -> None:
    states = np.arange(len(history.truth))
    mean = history.values[k]
    for std, alpha, label in (
        (history.value_std[k], 0.18, "95 % band, value"),
        (history.operator_std[k], 0.38, "95 % band, operator"),
    ):
        axes.fill_between(states, mean - Z95 * std, mean + Z95 * std, color=BLUE, alpha=alpha, lw=0, label=label)
    axes.plot(states, mean, color=BLUE, label="estimate")
    axes.plot(states, history.truth, ".", color=INK, ms=4, label="true value")
    count = int(history.checkpoints[k])
    axes.set_title(f"after {count:,} transition{'s' if count != 1 else ''}")
    axes.set_xlabel("state")


def _draw_curve(axes: Axes, history: DemoHistory) -> None:
    axes.loglog(history.checkpoints, history.rmse, color=ORANGE, label="root mean squared error")
    axes.loglog(history.checkpoints, history.value_std @ history.visits, color=BLUE, ls="--", label="mean std, value")
    axes.loglog(history.checkpoints, history.operator_std @ history.visits, color=BLUE, label="mean std, operator")
    axes.set_xlabel("transitions")
    axes.legend(loc="lower left", fontsize=8)


def write_report(history: DemoHistory, folder: Path) -> str:
    """Figure, tables and a page that explains them; returns what to print."""
    curve, states = curve_rows(history), state_rows(history)
    write_csv(folder / "curve.csv", CURVE_HEADER, curve)
    write_csv(folder / "states.csv", STATE_HEADER, states)
    draw(history).savefig(folder / "boyan.png")
    origin = {"settings": asdict(history.settings), **provenance()}
    (folder / "provenance.json").write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
    shown = curve[:: max(1, len(curve) // 8)]
    shown = shown if shown[-1] == curve[-1] else [*shown, curve[-1]]
    (folder / "report.md").write_text(
        REPORT.format(
            transitions=history.settings.transitions,
            curve=markdown(CURVE_HEADER, shown),
            states=markdown(STATE_HEADER, states),
            origin=json.dumps(origin, indent=2),
        ),
        encoding="utf-8",
    )
    return f"{aligned(CURVE_HEADER, shown)}\n\n{aligned(STATE_HEADER, states)}\n"


REPORT = """# Policy evaluation on the Boyan chain

The exact BBO posterior, one transition at a time, {transitions} transitions.

![Value estimates with their bands, and the error on the way](boyan.png)

*Operator* widths are the posterior's own: how far the Bellman operator, applied to the current value function, is
known at a state. *Value* widths carry that uncertainty through to the operator's fixed point, the value itself; it is
they that should hold the truth. The features cannot represent the values exactly, so a small error remains when the
bands have closed.

## On the way

{curve}

## At the end

{states}

## Made by

```json
{origin}
```
"""
