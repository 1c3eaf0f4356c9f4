"""The figure of a comparison: learning curves, final returns, and who is better than whom."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.experiments.comparing.values import Settled
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, SKY, YELLOW, style
from bayesbellman.experiments.statistics import (
    bootstrap_band,
    bootstrap_interval,
    interquartile_mean,
    interquartile_means,
)

COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, INK)
MOST_POINTS = 200
"""Of a curve: its band is drawn from 2,000 draws at each"""


def draw(settled: Settled, improvement: Mapping[tuple[str, str], Any]) -> Figure:
    """Curves of each environment above; final interquartile means and the matrix of improvement below."""
    number, envs = len(settled.labels), list(settled.spans)
    colours = {label: COLOURS[k % len(COLOURS)] for k, label in enumerate(settled.labels)}
    with style():
        below = 1.0 + 0.42 * max(number, 2)
        figure = Figure(figsize=(max(8.0, 4.0 * len(envs)), 3.4 + below))
        above, under = np.ravel(figure.subfigures(2, 1, height_ratios=(3.4, below)))  # pyright: ignore
        for axes, env in zip(above.subplots(1, len(envs), squeeze=False)[0], envs, strict=True):
            _curves(axes, settled, env, colours)
        handles, labels = above.axes[0].get_legend_handles_labels()
        above.legend(handles, labels, loc="outside lower center", ncols=min(number, 3), fontsize=8)
        bars, matrix = under.subplots(1, 2, width_ratios=(1.1, 1))
        _bars(bars, settled, colours)
        _matrix(matrix, settled, improvement)
        return figure


def _curves(axes: Axes, settled: Settled, env: str, colours: Mapping[str, str]) -> None:
    steps = settled.spans[env].steps
    keep = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).astype(int))
    for label in settled.labels:
        curves = np.stack([one.curve for one in settled.scored[label][env]])[:, keep]
        low, high = bootstrap_band(curves)
        middle = interquartile_means(curves.T)
        axes.plot(
            steps[keep],
            middle,
            ".-" if len(keep) < 30 else "-",
            ms=4,
            color=colours[label],
            label=_counted(settled, label),
        )
        axes.fill_between(steps[keep], low, high, color=colours[label], alpha=0.2, lw=0)
    axes.set(title=env, xlabel="steps", ylabel="evaluation, IQM", xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _counted(settled: Settled, label: str) -> str:
    """With its number of seeds, on all environments together."""
    there, gone = sum(map(len, settled.scored[label].values())), len(settled.missing[label])
    return f"{label}, n = {there}" + (f" of {there + gone}" if gone else "")


def _bars(axes: Axes, settled: Settled, colours: Mapping[str, str]) -> None:
    for row, label in enumerate(settled.labels):
        strata = settled.strata(label, "final")
        middle, (low, high) = interquartile_mean(np.concatenate(strata)), bootstrap_interval(strata)
        axes.barh(row, high - low, left=low, height=0.5, color=colours[label], alpha=0.35, lw=0)
        axes.plot([middle, middle], [row - 0.25, row + 0.25], color=colours[label], lw=2.5)
        values = np.concatenate(strata)
        axes.plot(values, np.full(len(values), row + 0.38), "|", ms=5, color=FAINT)
    axes.set_yticks(range(len(settled.labels)), [_folded(label) for label in settled.labels])
    axes.set_ylim(len(settled.labels) - 0.4, -0.6)
    at = ", ".join(sorted({f"{span.last:,}" for span in settled.spans.values()}))
    axes.set_title(f"final IQM, 95 % interval, all seeds; {at} steps")


def _matrix(axes: Axes, settled: Settled, improvement: Mapping[tuple[str, str], Any]) -> None:
    number = len(settled.labels)
    shown = np.full((number, number), np.nan)
    for (a, b), found in improvement.items():
        row, column = settled.labels.index(a), settled.labels.index(b)
        shown[row, column] = found.value
        ink = "white" if abs(found.value - 0.5) > 0.35 else INK
        ends = f"{found.low:.2f}-{found.high:.2f}" if np.isfinite(found.low) else "-"
        words = f"{found.value:.2f}\n{ends}"
        axes.text(column, row, words, ha="center", va="center", color=ink, fontsize=7 if number < 7 else 5)
    axes.imshow(shown, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    names = [chr(ord("A") + k) if number > 3 else _folded(label) for k, label in enumerate(settled.labels)]
    rows = [
        f"{name}: {_folded(label)}" if number > 3 else name for name, label in zip(names, settled.labels, strict=True)
    ]
    axes.set_xticks(range(number), names)
    axes.set_yticks(range(number), rows)
    axes.tick_params(length=0)
    axes.set_title("probability: row better than column")


def _folded(label: str, width: int = 24) -> str:
    """Over several lines, at its commas."""
    lines = [""]
    for part in label.split(", "):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]}, {part}" if lines[-1] else part
    return "\n".join(lines)
