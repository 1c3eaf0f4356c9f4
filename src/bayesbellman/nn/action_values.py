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
    """Under ``vmap``, the rows of many tables lie one below the other in one: XLA then need not transpose anything."""
    mapped = custom_vmap(function)

    @mapped.def_vmap
    def rule(axis_size: int, batched: list, rows: Float[Array, "..."], place: Int[Array, "..."]) -> tuple:
        if batched[1]:
            return jax.vmap(function, (0 if batched[0] else None, 0))(rows, place), True
        found = mapped(rows.reshape(-1, rows.shape[-1]), place)
        return found.reshape(axis_size, -1, found.shape[-1]), True

    return mapped


def _places(rows: int, cells: int, place: Int[Array, " n"]) -> Int[Array, "rows n"]:
    """In a table written row after row."""
    return jnp.arange(rows, dtype=jnp.int32)[:, None] * cells + place


@_for_many
def _take(table: Float[Array, "rows cells"], place: Int[Array, " n"]) -> Float[Array, "rows n"]:
    rows, cells = table.shape
    return table.reshape(-1).at[_places(rows, cells, place)].get(mode="promise_in_bounds")


@cache
def _gathered(cells: int) -> Any:
    """What fell on each cell."""

    @_for_many
    def gather(columns: Float[Array, "rows n"], place: Int[Array, " n"]) -> Float[Array, "rows cells"]:
        def add_up(columns: Float[Array, "rows n"], place: Int[Array, " n"]) -> Float[Array, "rows cells"]:
            rows = columns.shape[0]
            empty = jnp.zeros(rows * cells, columns.dtype)
            full = empty.at[_places(rows, cells, place)].add(columns, mode="promise_in_bounds")
            return full.reshape(rows, cells)

        def multiply(columns: Float[Array, "rows n"], place: Int[Array, " n"]) -> Float[Array, "rows cells"]:
            return columns @ jax.nn.one_hot(place, cells, dtype=columns.dtype)

        return jax.lax.platform_dependent(columns, place, cpu=add_up, default=multiply)

    return gather


@jax.custom_vjp
def look_up(table: Float[Array, "rows cells"], place: Int[Array, " n"]) -> Float[Array, "rows n"]:
    """``table[:, place]``. Its gradient gathers what fell on each cell, on a GPU by a product: always in one order."""
    return _take(table, place)


def _look_up_forward(table: Float[Array, "rows cells"], place: Int[Array, " n"]) -> tuple:
    return _take(table, place), (place, table.shape[1])


def _look_up_backward(kept: tuple, cotangent: Float[Array, "rows n"]) -> tuple:
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

    table: Float[Array, "actions cells"]

    def outputs(self, observation: Seen) -> Float[Array, "*batch actions"]:
        cell = observation if isinstance(observation, Cell) else cell_of(observation)
        return in_batch(cell, look_up(self.table, cell.place.reshape(-1)))

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)


def in_batch(cell: Cell, values: Float[Array, "actions n"]) -> Float[Array, "*batch actions"]:
    """Values found in columns, as the batch was; 0 in no cell."""
    return cell.there[..., None] * values.T.reshape(*cell.place.shape, -1)


class Table(eqx.Module):
    """A first layer for one-hot observations: a column for each cell, and a bias."""

    kernel: Float[Array, "width cells"]
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
        return cls(Table(whole.kernels[0], whole.biases[0]), rest)

    def outputs(self, observation: Seen) -> Float[Array, "*batch actions"]:
        if self.table is None:
            return self._layers(observation)
        cell = observation if isinstance(observation, Cell) else cell_of(observation)
        if self.fewer_cells_than(cell.place.size):
            return self.tabulated().outputs(cell)
        return in_batch(cell, self._after(self.table, look_up(self.table.kernel, cell.place.reshape(-1))))

    def fewer_cells_than(self, number: int) -> bool:
        """Whether so many observations cost more than to work out each cell once."""
        return self.table is not None and self.table.kernel.shape[-1] <= number

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)

    def tabulated(self) -> Tabulated:
        """The same function of one-hot observations, worked out for each cell."""
        if self.table is None:
            raise ValueError("only a network of one-hot observations can be tabulated")
        return Tabulated(self._after(self.table, self.table.kernel))

    def _layers(self, x: Any) -> Float[Array, "*batch actions"]:
        """As `MLP.outputs`, but in plain products alone: of narrow layers they cost less, also with few inputs."""
        *inner, last = zip(self.network.kernels, self.network.biases, strict=True)
        for kernel, bias in inner:
            x = self.network.activation(x @ kernel.T + bias)
        return x @ last[0].T + last[1]

    def _after(self, table: Table, columns: Float[Array, "width n"]) -> Float[Array, "actions n"]:
        """The layers after the table, with an observation in each column: products of narrow layers like rows that are
        long, and these are as long as the batch.
        """
        x = columns + table.bias[:, None]
        for kernel, bias in zip(self.network.kernels, self.network.biases, strict=True):
            x = kernel @ self.network.activation(x) + bias[:, None]
        return x
