"""Perceptrons against their formula: values and derivatives do not depend on how a device is best asked for them."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from bayesbellman.nn.mlp import FEW_INPUTS, MLP, relu

# Units and gates: few inputs and one output with relu take the latter.
ACTIVATIONS = {"relu": relu, "tanh": jnp.tanh}
SHAPES = [(1, (), 1), (2, (7,), 1), (4, (3, 5), 1), (5, (7,), 1), (2, (7,), 3)]


def network(num_inputs: int, num_outputs: int, activation: Callable, key: int = 0) -> MLP:
    """With biases that are not 0."""
    keys = jax.random.split(jax.random.key(key), 3)
    found = MLP.glorot(keys[0], num_inputs, (16,), activation, num_outputs)
    return MLP(
        found.kernels, (jax.random.normal(keys[1], (16,)), jax.random.normal(keys[2], (num_outputs,))), activation
    )


def plain(network: MLP, inputs: jax.Array) -> jax.Array:
    (first, last), (b, c) = network.kernels, network.biases
    return network.activation(inputs @ first.T + b) @ last.T + c


def close(found: object, expected: object) -> bool:
    return all(
        bool(jnp.allclose(a, b, rtol=1e-4, atol=1e-5))
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("num_inputs", "batch", "num_outputs"), SHAPES)
def test_one_hidden_layer_is_its_formula(
    num_inputs: int, batch: tuple[int, ...], num_outputs: int, activation: str
) -> None:
    psi = network(num_inputs, num_outputs, ACTIVATIONS[activation])
    along = network(num_inputs, num_outputs, ACTIVATIONS[activation], key=1)
    inputs = jax.random.normal(jax.random.key(2), (*batch, num_inputs))
    parts = (inputs[..., :1], inputs[..., 1:])

    def all_of_it(outputs: Callable) -> tuple:
        """Values, the gradient in parameters and inputs of a loss, and the Hessian's product with a direction."""
        gradient = jax.grad(lambda psi, x: jnp.sum(jnp.sin(outputs(psi, x))), argnums=(0, 1))
        return outputs(psi, inputs), *jax.jvp(lambda psi: gradient(psi, inputs), (psi,), (along,))

    found, expected = (jax.jit(lambda f=f: all_of_it(f))() for f in (MLP.outputs, plain))
    assert found[0].shape == (*batch, num_outputs)
    assert close(found, expected)
    assert close(psi.outputs(parts), expected[0])


@pytest.mark.parametrize("sizes", [(2, 1), (FEW_INPUTS, 3)])
def test_deep_networks_are_their_formula(sizes: tuple[int, int]) -> None:
    """With few inputs, in two parts, and with more than are written out; biases are not 0."""
    observed, acted = sizes
    psi = MLP.glorot(jax.random.key(0), observed + acted, (7, 5), num_outputs=2)
    psi = MLP(psi.kernels, tuple(b + 0.1 + jnp.arange(b.size) / 10 for b in psi.biases))
    inputs = jax.random.normal(jax.random.key(1), (6, observed + acted))
    x = inputs
    for kernel, bias in zip(psi.kernels[:-1], psi.biases[:-1], strict=True):
        x = jnp.maximum(x @ kernel.T + bias, 0)
    expected = x @ psi.kernels[-1].T + psi.biases[-1]
    found = jax.jit(lambda x: (psi.outputs(x), psi.outputs((x[:, :observed], x[:, observed:])), psi(x)))(inputs)
    assert close(found, (expected, expected, expected[:, 0]))


def test_kernels_start_uniform_within_glorot_s_bounds_and_biases_at_zero() -> None:
    """``sqrt(6 / (in + out))``; a uniform number's deviation is 1/sqrt(3) of its bound, here to 5 standard errors of
    0.4 % (of 20,000 and more entries)."""
    psi = jax.jit(lambda key: MLP.glorot(key, 100, (200, 300), num_outputs=150))(jax.random.key(0))
    for kernel, bias in zip(psi.kernels, psi.biases, strict=True):
        bound = (6 / sum(kernel.shape)) ** 0.5
        assert 0.99 * bound < float(jnp.max(jnp.abs(kernel))) <= bound * (1 + 1e-6)
        assert abs(float(jnp.std(kernel)) * 3**0.5 / bound - 1) < 5 * 0.004
        assert not jnp.any(bias)


def test_members_side_by_side_are_the_same() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    members = jax.vmap(lambda key: MLP.glorot(key, 2, (16,)))(keys)
    inputs = jax.random.normal(jax.random.key(1), (7, 2))
    assert close(jax.vmap(lambda psi: psi.outputs(inputs))(members), jax.vmap(lambda psi: plain(psi, inputs))(members))


def test_what_is_not_finite_shows() -> None:
    """A trial that has diverged must not look like one that has not."""
    psi = network(2, 1, relu)
    inputs = jnp.ones((3, 2))
    assert bool(jnp.isnan(psi(inputs.at[1, 0].set(jnp.nan))[1]))
    broken = MLP((psi.kernels[0].at[3, 1].set(jnp.nan), psi.kernels[1]), psi.biases, relu)
    assert bool(jnp.all(jnp.isnan(broken(inputs))))


def test_no_derivative_where_all_units_are_off() -> None:
    psi = MLP((jnp.zeros((4, 2)), jnp.ones((1, 4))), (jnp.zeros(4), jnp.zeros(1)))
    gradient = jax.grad(lambda psi: jnp.sum(psi(jnp.ones((3, 2)))))(psi)
    assert close(gradient.kernels, (jnp.zeros((4, 2)), jnp.zeros((1, 4))))
    slopes = jax.vmap(jax.grad(relu))(jnp.array([-1.0, 0.0, 1.0]))  # of deeper networks' units
    assert slopes.tolist() == [0.0, 0.0, 1.0]
