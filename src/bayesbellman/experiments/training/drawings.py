"""Pictures of our own environments: a hill with its car, a rail with its cart and pole, links, a sea with its diver."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bayesbellman.envs import cart_pole_balance, cart_pole_swing_up
from bayesbellman.envs.acrobot import LINE, AcrobotSparse
from bayesbellman.envs.cart_pole_balance import CartPoleBalance
from bayesbellman.envs.cart_pole_swing_up import CartPoleSwingUp
from bayesbellman.envs.cartpole import LENGTH, RAIL, CartPole
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import AbstractMountainCar, MountainCarDiscrete
from bayesbellman.envs.pendulum import PendulumSparse
from bayesbellman.envs.pole_physics import TO_CENTRE
from bayesbellman.experiments.plotting import BLUE, FAINT, INK, ORANGE

Frame = UInt8[np.ndarray, "height width 3"]
Draw = Callable[[Any, str], Frame]
"""A state of the environment and a caption, as a picture"""
SIZE = (3.6, 2.4)
DPI = 100
DRAWN = "the mountain cars, the cart-poles, pendulum and acrobot, and Deep Sea are drawn"


def drawing_of(env: Any) -> Draw | None:
    """How to draw an environment's states, if it can be drawn."""
    if isinstance(env, AbstractMountainCar):
        return _mountain_car(env, goal=0.5 if isinstance(env, MountainCarDiscrete) else 0.45)
    if isinstance(env, CartPole):
        return _cart_pole(RAIL, LENGTH)
    if isinstance(env, CartPoleBalance):
        return _cart_pole(cart_pole_balance.FARTHEST, 2 * TO_CENTRE)
    if isinstance(env, CartPoleSwingUp):
        return _cart_pole(cart_pole_swing_up.FARTHEST, 2 * TO_CENTRE)
    if isinstance(env, PendulumSparse):
        return _links(lambda state: [float(state.angle)])
    if isinstance(env, AcrobotSparse):
        return _links(lambda state: [math.pi + float(state.first), float(state.second)], line=LINE)
    if isinstance(env, DeepSea):
        return _deep_sea(env.size)
    return None


def _mountain_car(env: AbstractMountainCar, goal: float) -> Draw:
    """The hill is a sine, whose slope is what pulls the car."""
    low, high = float(env.low[0]), float(env.high[0])
    figure, axes = _stage((low, high), (-1.3, 1.5))
    x = np.linspace(low, high, 200)
    axes.fill_between(x, np.sin(3 * x), -1.3, color=FAINT, alpha=0.4, lw=0)
    axes.plot([goal, goal], [np.sin(3 * goal), np.sin(3 * goal) + 0.4], color=INK)
    axes.plot([goal], [np.sin(3 * goal) + 0.4], ">", color=ORANGE)
    (car,) = axes.plot([], [], "o", ms=9, color=BLUE)

    def draw(state: Any, caption: str) -> Frame:
        position = float(state.position)
        car.set_data([position], [math.sin(3 * position) + 0.12])
        return _picture(figure, caption)

    return draw


def _cart_pole(rail: float, length: float) -> Draw:
    reach = rail + 0.4  # from the middle to where the cart at the rail's end still is in the picture
    figure, axes = _stage((-reach, reach), (-0.61 * reach, 0.72 * reach))
    axes.plot([-rail, rail], [0, 0], color=FAINT, lw=1)
    width, height = 0.36, 0.2
    cart = Rectangle((0, 0), width, height, color=BLUE)
    axes.add_patch(cart)
    (pole,) = axes.plot([], [], color=ORANGE, lw=4, solid_capstyle="round")

    def draw(state: Any, caption: str) -> Frame:
        x, angle = float(state.position), float(state.angle)
        cart.set_xy((x - width / 2, -height / 2))
        pole.set_data([x, x + length * math.sin(angle)], [0, length * math.cos(angle)])
        return _picture(figure, caption)

    return draw


def _links(angles: Callable[[Any], list[float]], line: float | None = None) -> Draw:
    """Links of length 1 on a hinge: the first one's angle from upright, of another from the one it hangs from."""
    figure, axes = _stage((-3.6, 3.6), (-2.2, 2.2))
    axes.plot([0], [0], "o", ms=5, color=INK)
    if line is not None:
        axes.axhline(line, color=FAINT, lw=1)
    (links,) = axes.plot([], [], "-o", color=ORANGE, lw=4, ms=4, solid_capstyle="round")

    def draw(state: Any, caption: str) -> Frame:
        directions = np.cumsum(angles(state))
        x, y = np.cumsum(np.sin(directions)), np.cumsum(np.cos(directions))
        links.set_data([0, *x], [0, *y])
        return _picture(figure, caption)

    return draw


def _deep_sea(size: int) -> Draw:
    """From above to below, a row a step; the treasure is in the corner."""
    margin = 0.5 + 0.03 * size
    figure, axes = _stage((-margin, size - 1 + margin), (size + margin, -margin))  # the last step leaves the grid
    axes.set_aspect("equal")
    edges = np.arange(size + 1) - 0.5
    axes.hlines(edges, -0.5, size - 0.5, color=FAINT, lw=0.6)
    axes.vlines(edges, -0.5, size - 0.5, color=FAINT, lw=0.6)
    mark = 90 / size
    axes.plot([size - 1], [size - 1], "*", ms=mark, color=ORANGE)
    (diver,) = axes.plot([], [], "o", ms=0.8 * mark, color=BLUE)

    def draw(state: Any, caption: str) -> Frame:
        diver.set_data([int(state.column)], [int(state.row)])
        return _picture(figure, caption)

    return draw


def _stage(across: tuple[float, float], up: tuple[float, float]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, dpi=DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 0.9))
    axes.set(xlim=across, ylim=up)
    axes.set_axis_off()
    figure.text(0.5, 0.93, "", ha="center", fontsize=9, color=INK)  # a title would be laid out anew in each frame
    return figure, axes


def _picture(figure: Figure, caption: str) -> Frame:
    figure.texts[0].set_text(caption)
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
