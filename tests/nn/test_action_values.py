"""Values of a few actions: the table for one-hot observations is the first layer, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.nn.action_values import ActionValues, look_up

KEY = jax.random.key(0)
CELLS = jnp.concatenate([jnp.eye(6), jnp.zeros((1, 6))])
"""Each cell, and none"""


def test_a_table_is_the_first_layer() -> None:
    dense = ActionValues.glorot(KEY, 6, 3, (5, 4))
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    np.testing.assert_allclose(table.outputs(CELLS), dense.outputs(CELLS), rtol=1e-5, atol=1e-7)
    actions = jnp.array([0, 1, 2, 0, 1, 2, 1])
    values = table((CELLS, actions))
    np.testing.assert_allclose(values, dense.outputs(CELLS)[jnp.arange(7), actions], rtol=1e-5, atol=1e-7)


def test_gradients_are_those_of_the_dense_network() -> None:
    dense = ActionValues.glorot(KEY, 6, 3, (5, 4))
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    several = jnp.concatenate([CELLS, CELLS[:3]])  # a cell twice: its row gathers both
    actions = jnp.arange(10) % 3

    def loss(values: ActionValues) -> jax.Array:
        return jnp.sum(values((several, actions)) ** 2)

    theirs, ours = jax.grad(loss)(dense), jax.grad(loss)(table)
    assert ours.table is not None
    np.testing.assert_allclose(ours.table.kernel, theirs.network.kernels[0], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.table.bias, theirs.network.biases[0], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.network.kernels[0], theirs.network.kernels[1], rtol=1e-4, atol=1e-7)


def test_looking_up_in_many_tables_has_the_gradient_of_indexing() -> None:
    tables = jax.random.normal(KEY, (2, 6, 3))
    place = jnp.array([0, 2, 2, 2])

    def ours(table: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(look_up(table, place)))

    def theirs(table: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(table[:, place]))

    np.testing.assert_allclose(jax.vmap(jax.grad(ours))(tables), jax.vmap(jax.grad(theirs))(tables), rtol=1e-6)


def test_tabulated_is_the_same_function() -> None:
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    worked_out = table.tabulated()
    np.testing.assert_allclose(worked_out.outputs(CELLS[:-1]), table.outputs(CELLS[:-1]), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(worked_out.outputs(CELLS[-1]), np.zeros(3))
    actions = jnp.arange(6) % 3
    np.testing.assert_allclose(worked_out((CELLS[:-1], actions)), table((CELLS[:-1], actions)), rtol=1e-6, atol=1e-7)
