"""What a study must know of a sparse task: how it is made, what success is, and where visits are counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayesbellman.envs.base import AbstractControlEnv

EARNED = 0.5
"""A step with more has earned the 1: efforts cost 0.1 at most, and without the 1 nothing is earned"""


class Axis(NamedTuple):
    """One number of a state, cut into cells. What is beyond ``most`` either way lies in the outermost cells."""

    label: str
    most: float
    cells: int

    def cell(self, values: Float[Array, " N"]) -> Float[Array, " N"]:
        return jnp.clip(jnp.floor((values / self.most + 1) / 2 * self.cells), 0, self.cells - 1)

    def middles(self) -> Float[np.ndarray, " C"]:
        return ((np.arange(self.cells) + 0.5) / self.cells * 2 - 1) * self.most


class Plane(NamedTuple):
    """Two numbers of a state: a grid on which visits are counted and members' values looked at."""

    across: Axis
    up: Axis
    seen: Callable[[Array], tuple[Array, Array]]
    """The two, of observations"""
    shown: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Observations of states that have them, with all else at rest"""

    @property
    def shape(self) -> tuple[int, int]:
        return self.across.cells, self.up.cells

    def cell_of(self, observation: Float[Array, "N d"]) -> Int[Array, " N"]:
        """Which cell of the grid each lies in."""
        across, up = self.seen(observation)
        return (self.across.cell(across) * self.up.cells + self.up.cell(up)).astype(jnp.int32)

    def places(self) -> Float[np.ndarray, "M d"]:
        """The middles of the cells, as observations."""
        across, up = np.meshgrid(self.across.middles(), self.up.middles(), indexing="ij")
        return self.shown(across.ravel(), up.ravel())


@dataclass(frozen=True)
class Task:
    """Episodes have one length, ``time_limit``; nothing terminates."""

    name: str
    make: Callable[..., AbstractControlEnv]
    """``make(time_limit=..., **floats)``, with those floats of a run that are the environment's"""
    success: float
    """Return above which an evaluation is one"""
    plane: Plane
    floats: tuple[str, ...] = ()
    """Their names"""
    time_limit: int = 1_000
