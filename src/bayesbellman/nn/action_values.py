"""Action values ``Q(s, .)`` for a few actions: a network with an output for each.

Where an observation only says in which cell one is (a one-hot vector), the first layer is a table that is looked up,
and a network that is never trained is a table altogether.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.nn.mlp import MLP, relu


@jax.custom_vjp
def look_up(table: Float[Array, "cells width"], cell: Int[Array, "*batch"]) -> Float[Array, "*batch width"]:
    """``table[cell]``. Its gradient gathers what fell on each cell, on a GPU by a product: always in one order."""
    return table[cell]


def _look_up_forward(table: Float[Array, "cells width"], cell: Int[Array, "*batch"]) -> tuple:
    return table[cell], (cell, table.shape[0])


def _look_up_backward(kept: tuple, cotangent: Float[Array, "*batch width"]) -> tuple:
    cell, cells = kept
    flat, rows = cell.reshape(-1), cotangent.reshape(-1, cotangent.shape[-1])

    def add_up(flat: Int[Array, " n"], rows: Float[Array, "n width"]) -> Float[Array, "cells width"]:
        return jnp.zeros((cells, rows.shape[-1]), rows.dtype).at[flat].add(rows)

    def multiply(flat: Int[Array, " n"], rows: Float[Array, "n width"]) -> Float[Array, "cells width"]:
        return jax.nn.one_hot(flat, cells, dtype=rows.dtype, axis=0) @ rows

    return jax.lax.platform_dependent(flat, rows, cpu=add_up, default=multiply), None


look_up.defvjp(_look_up_forward, _look_up_backward)


def cell_of(observation: Float[Array, "*batch cells"]) -> tuple[Int[Array, "*batch"], Float[Array, "*batch"]]:
    """Which entry of a one-hot vector is 1, and whether one is (1 or 0)."""
    return jnp.argmax(observation, axis=-1), jnp.max(observation, axis=-1)


def chosen(values: Float[Array, "*batch actions"], action: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """The value of the action taken."""
    taken = jax.nn.one_hot(action, values.shape[-1], dtype=values.dtype)
    return jnp.sum(taken * values, axis=-1)


class Tabulated(eqx.Module):
    """Values of each action in each cell; in no cell, 0."""

    table: Float[Array, "cells actions"]

    def outputs(self, observation: Float[Array, "*batch cells"]) -> Float[Array, "*batch actions"]:
        cell, there = cell_of(observation)
        return there[..., None] * self.table[cell]

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)


class Table(eqx.Module):
    """A first layer for one-hot observations: a row for each cell, and a bias."""

    rows: Float[Array, "cells width"]
    bias: Float[Array, " width"]

    def __call__(self, observation: Float[Array, "*batch cells"]) -> Float[Array, "*batch width"]:
        cell, there = cell_of(observation)
        return there[..., None] * look_up(self.rows, cell) + self.bias


class ActionValues(eqx.Module):
    """A network of observations; called with (observation, action), it gives the value of that action."""

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

    def outputs(self, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch actions"]:
        x: Any = observation
        if self.table is not None:
            x = self.network.activation(self.table(observation))
        return self.network.outputs(x)

    def __call__(self, inputs: tuple) -> Float[Array, "*batch"]:
        observation, action = inputs
        return chosen(self.outputs(observation), action)

    def tabulated(self) -> Tabulated:
        """The same function of one-hot observations, worked out for each cell."""
        if self.table is None:
            raise ValueError("only a network of one-hot observations can be tabulated")
        return Tabulated(self.network.outputs(self.network.activation(self.table.rows + self.table.bias)))
