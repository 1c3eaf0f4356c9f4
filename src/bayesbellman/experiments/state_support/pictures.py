"""Pictures of MountainCar's states: what an ensemble's members say they are worth, and which have been visited."""

import numpy as np
from jaxtyping import Float
from matplotlib.colors import LogNorm, Normalize, SymLogNorm
from matplotlib.figure import Figure

from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.experiments.plotting import FAINT, style

CELLS = 40
FAR_AWAY = 30.0
"""A member whose values are so many times those of most makes the scale logarithmic beyond these: on a linear one all
others would be blank."""


def extent() -> tuple[float, float, float, float]:
    low, high = MountainCar().low, MountainCar().high
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def counts(visited: Float[np.ndarray, "N 2"]) -> Float[np.ndarray, "CELLS CELLS"]:
    """Visits of each cell of the state space."""
    left, right, slow, fast = extent()
    return np.histogram2d(visited[:, 0], visited[:, 1], CELLS, [[left, right], [slow, fast]])[0]


def scale_of(values: Float[np.ndarray, "L M"]) -> tuple[Normalize, str]:
    """One for the values of all members, and in words."""
    low, high = float(values.min()), float(values.max())
    usual = float(np.median(np.abs(values).max(axis=1)))
    words = f"{low:,.0f} to {high:,.0f}"
    if max(abs(low), abs(high)) <= FAR_AWAY * usual or usual == 0:
        return Normalize(low, high), words
    return SymLogNorm(usual, vmin=low, vmax=high), f"{words}, log beyond {usual:,.0f}"


def draw_support(
    title: str,
    moments: list[int],
    values: Float[np.ndarray, "T L M"],
    visited: Float[np.ndarray, "N 2"],
) -> Figure:
    """A column per moment: each member's values over position and velocity, then the states visited until then."""
    members, side = values.shape[1], round(np.sqrt(values.shape[2]))
    across = min(members, 4)
    down = -(-members // across)
    with style():
        figure = Figure(figsize=(2.5 * len(moments), 1.0 + 0.75 * down + 2.0), layout="constrained")
        columns = figure.subfigures(1, len(moments), squeeze=False)[0]
        figure.suptitle(f"{title}: members' values (top), visited states (bottom)")
        for column, moment, of_members in zip(columns, moments, values, strict=True):
            top, bottom = column.subfigures(2, 1, height_ratios=[down * 0.75 + 0.3, 2.0])
            panels = np.asarray(top.subplots(down, across, squeeze=False)).ravel()
            norm, scale = scale_of(of_members)
            top.suptitle(f"after {moment:,} steps\nvalues {scale}", fontsize=8)
            for axes, member in zip(panels, of_members, strict=False):
                axes.imshow(
                    member.reshape(side, side).T,
                    origin="lower",
                    extent=extent(),
                    aspect="auto",
                    norm=norm,
                    cmap="viridis",
                )
            for axes in panels:
                axes.set_axis_off()
            axes = bottom.subplots()
            seen = counts(visited[:moment])
            axes.imshow(
                np.where(seen > 0, seen, np.nan).T,
                origin="lower",
                extent=extent(),
                aspect="auto",
                norm=LogNorm(1, max(2.0, float(seen.max()))),
                cmap="magma_r",
            )
            axes.axvline(0.45, color=FAINT, lw=0.8, ls=":")
            axes.set_xlabel("position")
            axes.set_yticks([-0.05, 0, 0.05])
            if column is columns[0]:
                axes.set_ylabel("velocity")
        return figure
