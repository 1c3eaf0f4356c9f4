"""Pictures of runs on a sparse task: returns, rewards found, and what of a plane of its states was visited when."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Arrays
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, SKY, YELLOW, style
from bayesbellman.experiments.sparse.task import Plane
from bayesbellman.experiments.statistics import interquartile_mean

COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, INK)
ACROSS = 4
"""Panels in a row, at most"""
FAR_APART = 30.0
"""Moments whose largest disagreements are further apart than this share a logarithmic scale: on a linear one the later
ones would be blank."""

LINEAR_STEPS, LINEAR_DOUBT = 10.0, 0.1
"""Scales of rewarded steps and of disagreement are linear up to here, and then logarithmic: a run may have neither"""


def groups_of(results: Mapping[str, Arrays]) -> dict[str, dict[str, np.ndarray]]:
    """Curves of each group, a column for each run."""
    per_run = ("returns", "rewarded_steps", "disagreement")
    found: dict[str, dict[str, np.ndarray]] = {}
    for arrays in results.values():
        for group in dict.fromkeys(arrays["group"].tolist()):
            here = arrays["group"] == group
            found[str(group)] = {"steps": arrays["steps"], **{name: arrays[name][:, here] for name in per_run}}
    return found


def scale_of(groups: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[float, str]:
    """Of the axis of steps: what its numbers count, and in words."""
    longest = max((found["steps"][-1] for found in groups.values()), default=0)
    return (1e6, "millions of steps") if longest >= 1e6 else (1e3, "thousands of steps")


def draw_curves(results: Mapping[str, Arrays], success: float) -> Figure:
    """A panel for each group: the return of every run, the interquartile mean bold, what success is dotted."""
    groups = groups_of(results)
    unit, words = scale_of(groups)
    down = -(-len(groups) // ACROSS)
    across = -(-len(groups) // max(1, down))  # of five, three and two, and not four and one
    with style():
        figure = Figure(figsize=(2.6 * across, 0.5 + 2.2 * down))
        panels = np.asarray(figure.subplots(down, across, squeeze=False, sharey=True)).ravel()
        for at, (axes, (name, found)) in enumerate(zip(panels, groups.items(), strict=False)):
            colour, steps = COLOURS[at % len(COLOURS)], found["steps"] / unit
            axes.plot(steps, found["returns"], color=colour, lw=0.6, alpha=0.5)
            axes.plot(steps, [interquartile_mean(row) for row in found["returns"]], color=colour, lw=2)
            axes.axhline(success, color=FAINT, lw=0.8, ls=":")
            axes.set_title(f"{name}\nn = {found['returns'].shape[1]}")  # one line would not hold every name
        for axes in panels[len(groups) :]:
            axes.set_axis_off()
        figure.supxlabel(words, fontsize=9)
        figure.supylabel("return of the mean action", fontsize=9)
        return figure


def draw_rewards(results: Mapping[str, Arrays]) -> Figure:
    """Steps of training that earned the reward, and the ensemble's disagreement, of each run."""
    groups = groups_of(results)
    return draw_rewards_in_time(groups) if len(groups) <= len(COLOURS) else draw_rewards_in_the_end(groups)


def draw_rewards_in_time(groups: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """A line for each run."""
    unit, words = scale_of(groups)
    with style():
        figure = Figure(figsize=(9.0, 3.4))
        left, right = figure.subplots(1, 2)
        for at, (name, found) in enumerate(groups.items()):
            colour, steps = COLOURS[at % len(COLOURS)], found["steps"] / unit
            for axes, curves in ((left, np.cumsum(found["rewarded_steps"], axis=0)), (right, found["disagreement"])):
                lines = axes.plot(steps, curves, color=colour, lw=0.9, alpha=0.7)
                lines[0].set_label(name)
        for axes, linear in ((left, LINEAR_STEPS), (right, LINEAR_DOUBT)):
            axes.set_yscale("symlog", linthresh=linear)
            # From 0 and to the end of the linear part at least: what stays within a decade has no other ticks
            axes.set_ylim(0, max(linear, axes.get_ylim()[1]))
        left.set_title("rewarded steps of training so far")
        right.set_title("disagreement of members at replayed states")
        for axes in (left, right):
            axes.set_xlabel(words)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(groups), 5))
        return figure


def draw_rewards_in_the_end(groups: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """A dot for each run, where groups are too many for lines."""
    with style():
        figure = Figure(figsize=(9.0, 0.8 + 0.2 * len(groups)))
        left, right = figure.subplots(1, 2, sharey=True)
        for at, found in enumerate(groups.values()):
            for axes, dots in ((left, found["rewarded_steps"].sum(axis=0)), (right, found["disagreement"][-1])):
                axes.plot(dots, np.full(len(dots), at), "o", color=BLUE, ms=4, alpha=0.6, clip_on=False, zorder=3)
                axes.axhline(at, color=FAINT, lw=0.4)
        left.set_yticks(range(len(groups)), list(groups))
        left.invert_yaxis()
        for axes, linear in ((left, LINEAR_STEPS), (right, LINEAR_DOUBT)):
            axes.set_xscale("symlog", linthresh=linear)
            axes.set_xlim(0, max(linear, axes.get_xlim()[1]))
        left.set_xlabel("rewarded steps of training")
        right.set_xlabel("members' disagreement in the end")
        return figure


def draw_support(title: str, plane: Plane, found: Arrays, run: int) -> Figure:
    """A column for each moment: states visited until then (top), members' disagreement with all else at rest
    (bottom), unless there is none: a single member never disagrees."""
    moments, visits, spread = found["moments"], found["visits"][:, run], found["spread"][:, run]
    extent = (-plane.across.most, plane.across.most, -plane.up.most, plane.up.most)
    with style():
        rows = 2 if np.any(spread > 0) else 1
        figure = Figure(figsize=(0.6 + 2.1 * len(moments), 0.6 + 1.8 * rows))
        figure.suptitle(title)
        panels = figure.subplots(rows, len(moments), squeeze=False, sharex=True, sharey=True)
        for column, moment in enumerate(moments):
            top = panels[0, column]
            _image(top, np.where(visits[column] > 0, visits[column], np.nan), extent, LogNorm(1, visits.max() + 1))
            top.set_title(f"{int(moment):,} steps, {np.mean(visits[column] > 0):.0%}")
            panels[-1, column].set_xlabel(plane.across.label)
        panels[0, 0].set_ylabel(f"visits\n{plane.up.label}")
        if rows == 1:
            return figure
        norm, scale = _scale(spread)
        for axes, image in zip(panels[1], spread, strict=True):
            _image(axes, image, extent, norm)
        panels[1, 0].set_ylabel(f"disagreement,\n{scale}\n{plane.up.label}")  # a line of its own: some scales are long
        return figure


def _scale(spread: Float[np.ndarray, "M A V"]) -> tuple[Normalize, str]:
    """One for all moments, and in words."""
    finite = np.where(np.isfinite(spread), spread, 0.0)
    peaks = finite.max(axis=(1, 2), initial=1e-6)
    largest = float(peaks.max(initial=1e-6))
    if len(peaks) == 0 or largest <= FAR_APART * peaks.min():
        return Normalize(0, largest), f"0 to {_short(largest)}"
    least = float(finite[finite > 0].min())
    return LogNorm(least, largest), f"{_short(least)} to {_short(largest)} (log)"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _image(axes, values: Shaped[np.ndarray, "A V"], extent: tuple[float, float, float, float], norm) -> None:
    shown: Float[np.ndarray, "V A"] = np.asarray(values, float).T
    axes.imshow(shown, origin="lower", extent=extent, aspect="auto", norm=norm, cmap="magma_r")
    axes.axvline(0.0, color=FAINT, lw=0.6, ls=":")
