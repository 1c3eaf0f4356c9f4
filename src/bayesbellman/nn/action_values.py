"""Action values ``Q(s, .)`` for a few actions: a network with an output for each.

Where an observation only says in which cell one is (a one-hot vector), the first layer is a table that is looked up,
and a network that is never trained is a table altogether.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, Key

from bayesbellman.nn.mlp import MLP, relu


class Cell(eqx.Module):
    """Where a one-hot observation is: the number of its cell, and 1; in no cell, any number and 0."""

    place: Int[Array, "*batch"]
    there: Float[Array, "*batch"]


def cell_of(observation: Float[Array, "*batch cells"]) -> Cell:
    """Which entry of a one-hot vector is 1, and whether one is.

    By a product, which a CPU does faster than it searches, and at full precision, since numbers of cells must be exact.
    """
    cells = observation.shape[-1]
    columns = jnp.stack([jnp.arange(cells, dtype=observation.dtype), jnp.ones(cells, observation.dtype)], axis=-1)
    found = jnp.matmul(observation, columns, precision=jax.lax.Precision.HIGHEST)
    return Cell(found[..., 0].astype(jnp.int32), found[..., 1])


def _for_many(function: Any) -> Any:
    """Under ``vmap``, each of many tables has places of its own, though they be the same for all: XLA then need not
    transpose what it finds.
    """
    mapped = custom_vmap(function)

    @mapped.def_vmap
    def rule(axis_size: int, batched: list, rows: Float[Array, "..."], place: Int[Array, "..."]) -> tuple:
        if not batched[0]:
            return jax.vmap(function, (None, 0))(rows, place), True
        places = place if batched[1] else jnp.broadcast_to(place, (axis_size, *place.shape))
        return jax.vmap(function)(rows, places), True

    return mapped


@_for_many
def _take(table: Float[Array, "cells width"], place: Int[Array, " n"]) -> Float[Array, "n width"]:
    return table.at[place].get(mode="promise_in_bounds")


@cache
def _gathered(cells: int) -> Any:
    """What fell on each cell."""

    @_for_many
    def gather(rows: Float[Array, "n width"], place: Int[Array, " n"]) -> Float[Array, "cells width"]:
        def add_up(rows: Float[Array, "n width"], place: Int[Array, " n"]) -> Float[Array, "cells width"]:
            return jnp.zeros((cells, rows.shape[-1]), rows.dtype).at[place].add(rows, mode="promise_in_bounds")

        def multiply(rows: Float[Array, "n width"], place: Int[Array, " n"]) -> Float[Array, "cells width"]:
            return jax.nn.one_hot(place, cells, dtype=rows.dtype, axis=0) @ rows

        return jax.lax.platform_dependent(rows, place, cpu=add_up, default=multiply)

    return gather


@jax.custom_vjp
def look_up(table: Float[Array, "cells width"], place: Int[Array, " n"]) -> Float[Array, "n width"]:
    """``table[place]``. Its gradient gathers what fell on each cell, on a GPU by a product: always in one order."""
    return _take(table, place)


def _look_up_forward(table: Float[Array, "cells width"], place: Int[Array, " n"]) -> tuple:
    return _take(table, place), (place, table.shape[0])


def _look_up_backward(kept: tuple, cotangent: Float[Array, "n width"]) -> tuple:
    place, cells = kept
    return _gathered(cells)(cotangent, place), None


look_up.defvjp(_look_up_forward, _look_up_backward)


def chosen(values: Float[Array, "*batch actions"], action: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """The value of the action taken."""
    taken = jax.nn.one_hot(action, values.shape[-1], dtype=values.dtype)
    return jnp.sum(taken * values, axis=-1)


Seen = Float[Array, "*batch d"] | Cell
"""An observation, or the cell that it tells of"""


class Tabulated(eqx.Module):
    """Values of each action in each cell; in no cell, where an episode is over, 0."""

    table: Float[Array, "cells actions"]

    def outputs(self, observation: Seen) -> Float[Array, "*batch actions"]:
        cell = observation if isinstance(observation, Cell) else cell_of(observation)
        return in_batch(cell, look_up(self.table, cell.place.reshape(-1)))

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)


def in_batch(cell: Cell, values: Float[Array, "n actions"]) -> Float[Array, "*batch actions"]:
    """In the shape of the batch; 0 in no cell."""
    return cell.there[..., None] * values.reshape(*cell.place.shape, -1)


class Table(eqx.Module):
    """A first layer for one-hot observations: a row for each cell, and a bias."""

    rows: Float[Array, "cells width"]
    bias: Float[Array, " width"]


class ActionValues(eqx.Module):
    """A network of observations; called with (observation, action), it gives the value of that action.

    Of one-hot observations: 0 in no cell.
    """

    table: Table | None
    """The first layer, where observations are one-hot"""
    network: MLP
    """The layers after it, or all of them"""

    @classmethod
    def glorot(
        cls,
        key: Key[Array, ""],
        num_inputs: int,
        num_actions: int,
        hidden: Sequence[int] = (64, 64),
        activation: Callable[[Array], Array] = relu,
        one_hot: bool = False,
    ) -> "ActionValues":
        """As `MLP.glorot`: whether the first layer is a table is a matter of speed."""
        whole = MLP.glorot(key, num_inputs, hidden, activation, num_actions)
        if not one_hot:
            return cls(None, whole)
        rest = MLP(whole.kernels[1:], whole.biases[1:], activation)
        return cls(Table(whole.kernels[0].T, whole.biases[0]), rest)

    def outputs(self, observation: Seen) -> Float[Array, "*batch actions"]:
        if self.table is None:
            return self._layers(observation)
        cell = observation if isinstance(observation, Cell) else cell_of(observation)
        if self.fewer_cells_than(cell.place.size):
            return self.tabulated().outputs(cell)
        return in_batch(cell, self._after(self.table, look_up(self.table.rows, cell.place.reshape(-1))))

    def fewer_cells_than(self, number: int) -> bool:
        """Whether so many observations cost more than to work out each cell once."""
        return self.table is not None and self.table.rows.shape[-2] <= number

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)

    def tabulated(self) -> Tabulated:
        """The same function of one-hot observations, worked out for each cell."""
        if self.table is None:
            raise ValueError("only a network of one-hot observations can be tabulated")
        return Tabulated(self._after(self.table, self.table.rows))

    def _layers(self, x: Any) -> Float[Array, "*batch actions"]:
        """As `MLP.outputs`, but in plain products alone: of narrow layers they cost less, also with few inputs."""
        *inner, last = zip(self.network.kernels, self.network.biases, strict=True)
        for kernel, bias in inner:
            x = self.network.activation(x @ kernel.T + bias)
        return x @ last[0].T + last[1]

    def _after(self, table: Table, rows: Float[Array, "n width"]) -> Float[Array, "n actions"]:
        """The layers after the table, with an observation in each column: products of narrow layers like rows that are
        long, and these are as long as the batch.
        """
        x = (rows + table.bias).T
        for kernel, bias in zip(self.network.kernels, self.network.biases, strict=True):
            x = kernel @ self.network.activation(x) + bias[:, None]
        return x.T
