"""How our figures look: one style, one set of colours, no display needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler

INK, FAINT = "#222222", "#888888"
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
)  # told apart also by colour-blind readers


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style, to files only, and leave matplotlib's settings as they were."""
    settings: Any = {
        "figure.dpi": 110,
        "savefig.dpi": 150,
        "figure.constrained_layout.use": True,
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, PINK]),
        "legend.frameon": False,
        "lines.linewidth": 1.5,
    }
    with mpl.rc_context(settings):
        yield
