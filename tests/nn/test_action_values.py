"""Values of a few actions: the table for one-hot observations is the first layer, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.nn.action_values import ActionValues, cell_of, look_up

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


@pytest.mark.parametrize("several", [jnp.concatenate([CELLS, CELLS[:3]]), CELLS[jnp.array([1, 4, 1])]])
def test_gradients_are_those_of_the_dense_network(several: jax.Array) -> None:
    """With as many observations as cells, where each cell is worked out once, and with fewer; a cell comes twice."""
    dense = ActionValues.glorot(KEY, 6, 3, (5, 4))
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    actions = jnp.arange(len(several)) % 3

    def loss(values: ActionValues) -> jax.Array:
        return jnp.sum(values((several, actions)) ** 2)

    theirs, ours = jax.grad(loss)(dense), jax.grad(loss)(table)
    assert ours.table is not None
    np.testing.assert_allclose(ours.table.rows, theirs.network.kernels[0].T, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.table.bias, theirs.network.biases[0], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.network.kernels[0], theirs.network.kernels[1], rtol=1e-4, atol=1e-7)


def test_looking_up_in_many_tables_has_the_gradient_of_indexing() -> None:
    tables = jax.random.normal(KEY, (2, 6, 3))
    place = jnp.array([0, 5, 5, 5])

    def ours(table: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(look_up(table, place)))

    def theirs(table: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(table[place]))

    np.testing.assert_allclose(jax.vmap(jax.grad(ours))(tables), jax.vmap(jax.grad(theirs))(tables), rtol=1e-6)


def test_tabulated_is_the_same_function() -> None:
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    worked_out = table.tabulated()
    np.testing.assert_allclose(worked_out.outputs(CELLS[:-1]), table.outputs(CELLS[:-1]), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(worked_out.outputs(CELLS[-1]), np.zeros(3))
    actions = jnp.arange(6) % 3
    np.testing.assert_allclose(worked_out((CELLS[:-1], actions)), table((CELLS[:-1], actions)), rtol=1e-6, atol=1e-7)


def test_few_observations_and_many_have_the_same_values() -> None:
    table = ActionValues.glorot(KEY, 6, 3, (5, 4), one_hot=True)
    moved = jax.tree.map(lambda x: x + 0.1, table)  # biases too, which are 0 at first
    of_all = moved.outputs(CELLS)
    for k in range(7):
        np.testing.assert_allclose(moved.outputs(CELLS[k]), of_all[k], rtol=1e-6)
    np.testing.assert_array_equal(of_all[-1], np.zeros(3))
    assert np.all(of_all[0] != 0)
    np.testing.assert_allclose(moved.outputs(CELLS.reshape(1, 7, 6))[0], of_all, rtol=1e-6)


def test_cells_are_found_exactly_however_many() -> None:
    places = jnp.array([0, 1, 4_999, 12_345, 19_999])
    cell = cell_of(jax.nn.one_hot(places, 20_000))
    np.testing.assert_array_equal(cell.place, places)
    np.testing.assert_array_equal(cell.there, np.ones(5))
    assert cell_of(jnp.zeros(9)).there == 0
