"""The GPU's kernels for networks, step by step on whatever is there, beside the same network in plain products."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from bayesbellman.nn import factors, fused, mlp
from bayesbellman.nn.fused import HOW, How, Layers, two_hidden
from bayesbellman.nn.mlp import MLP
from bayesbellman.nn.priors import WithPrior

ROWS, MEMBERS, WIDTH, OUT = 128, 2, 128, 2


def network(key: Array, out: int = OUT) -> Layers:
    keys = jax.random.split(key, 6)
    shapes = [(WIDTH, 3), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (out, WIDTH), (out,)]
    scales = [0.5, 0.1, WIDTH**-0.5, 0.1, WIDTH**-0.5, 1.0]
    draws = [scale * jax.random.normal(key, shape) for key, shape, scale in zip(keys, shapes, scales, strict=True)]
    return Layers(*draws)


def plain(net: Layers, inputs: tuple) -> Array:
    """With operands rounded as in the kernels; gradients pass through the rounding."""

    def as_if(x: Array, rounded: Array) -> Array:
        return x + jax.lax.stop_gradient(rounded - x)

    def half(x: Array) -> Array:
        return as_if(x, x.astype(jnp.float16).astype(x.dtype))

    before = jnp.concatenate(inputs, axis=-1)
    first = as_if(before @ net.first.T + net.first_bias, first_layer(net, before))
    second = jnp.maximum(half(jnp.maximum(first, 0.0)) @ half(net.second).T + net.second_bias, 0.0)
    return second @ net.last.T + net.last_bias


def first_layer(net: Layers, inputs: Array) -> Array:
    """By the leading eight bits of each factor and the next eight, but for the product of the latter."""

    def parts(x: Array) -> tuple[Array, Array]:
        high = jax.lax.reduce_precision(x, 8, 7)
        return high, jax.lax.reduce_precision(x - high, 8, 7)

    (high, low), (of_high, of_low) = parts(inputs), parts(net.first)
    return high @ of_high.T + low @ of_high.T + high @ of_low.T + sum(parts(net.first_bias))


def differences(a: Array, b: Array) -> float:
    return float(jnp.linalg.norm((a - b).ravel()) / jnp.linalg.norm(b.ravel()))


@pytest.fixture(scope="module")
def problem() -> tuple:
    """Two runs of two members; members share observations and have actions of their own."""
    keys = jax.random.split(jax.random.key(0), (2, MEMBERS, 2))
    nets = jax.vmap(jax.vmap(jax.vmap(network)))(keys)
    observation = jax.random.normal(jax.random.key(1), (2, ROWS, 2))
    action = jax.random.normal(jax.random.key(2), (2, MEMBERS, ROWS, 1))
    weights = jax.random.normal(jax.random.key(3), (2, MEMBERS, 2, ROWS, OUT))
    return nets, observation, action, weights


def both(of_pair) -> object:
    """Weighted outputs of pairs of networks, and their gradients, over runs and members."""

    def total(nets: Layers, observation: Array, action: Array, weights: Array) -> tuple[Array, Array]:
        over_members = jax.vmap(of_pair, in_axes=(0, None, 0))
        found = jax.vmap(over_members)(nets, observation, action)
        return jnp.sum(weights * found), found

    return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True))


@pytest.mark.parametrize("shares", [1, 4])
def test_outputs_and_all_gradients_are_those_of_plain_products(shares: int, problem: tuple) -> None:
    def by_kernels(nets: Layers, observation: Array, action: Array) -> Array:
        pair = tuple(jax.tree.map(lambda x, n=n: x[n], nets) for n in range(2))
        return two_hidden(pair, (observation, action), How(64, shares, interpret=True))

    def by_products(nets: Layers, observation: Array, action: Array) -> Array:
        return jax.vmap(lambda net: plain(net, (observation, action)))(nets)

    (_, found), gradients = both(by_kernels)(*problem)
    (_, expected), expected_gradients = both(by_products)(*problem)
    assert differences(found, expected) < 1e-5
    errors = [jax.tree.leaves(each) for each in jax.tree.map(differences, gradients, expected_gradients)]
    # On their way back those for parameters are rounded to eight bits, those for inputs to eleven.
    assert np.max(errors[0]) < 2**-7, errors
    assert np.max(errors[1] + errors[2]) < 2**-10, errors


@pytest.mark.parametrize("shares", [1, 2])
def test_the_gradient_of_a_value_for_actions_is_that_of_plain_products(shares: int) -> None:
    """As an actor needs it, of critics that it does not move: values and gradients are of one kernel."""
    nets = tuple(network(key, out=1) for key in jax.random.split(jax.random.key(0)))
    observation, action = jnp.ones((ROWS, 2)), jax.random.normal(jax.random.key(1), (ROWS, 1))

    def least(of_nets, action: Array) -> tuple[Array, Array]:
        values = of_nets(action)[..., 0]
        return jnp.sum(jnp.min(values, axis=0) ** 2), values

    def by_kernels(action: Array) -> Array:
        return two_hidden(nets, (observation, action), How(64, shares, interpret=True))

    def by_products(action: Array) -> Array:
        return jnp.stack([plain(net, (observation, action)) for net in nets])

    found, values = jax.grad(partial(least, by_kernels), has_aux=True)(action)
    expected, expected_values = jax.grad(partial(least, by_products), has_aux=True)(action)
    assert differences(values, expected_values) < 1e-5
    assert differences(found, expected) < 2**-10


@pytest.mark.parametrize("number", [1, 4, 5, 10, 32])
def test_the_first_layer_is_good_to_fifteen_bits(number: int) -> None:
    keys = jax.random.split(jax.random.key(number), 3)
    inputs, first = (1e6 * jax.random.normal(key, (ROWS, number)) for key in keys[:2])
    bias = 1e12 * jax.random.normal(keys[2], (ROWS,))
    ours = factors.first_factors(first, bias)
    found = factors.product(factors.input_factors(list(inputs.T), ours.shape[0]), ours, 1, 0)
    exact = np.float64(inputs) @ np.float64(first).T + np.float64(bias)
    sizes = np.abs(np.float64(inputs)) @ np.abs(np.float64(first)).T + np.abs(np.float64(bias))
    assert np.max(np.abs(found - exact) / sizes) < 2**-15


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_the_size_of_slopes_does_not_matter(size: float) -> None:
    """Of networks with several outputs, whose slopes are multiplied in on the way."""
    net, observation = network(jax.random.key(0)), jnp.ones((ROWS, 2))
    action = jax.random.normal(jax.random.key(1), (ROWS, 1))

    def total(size: float, action: Array) -> Array:
        return size * jnp.sum(two_hidden((net,), (observation, action), How(64, 1, interpret=True)))

    found, expected = (jax.grad(partial(total, s))(action) for s in (size, 1.0))
    assert differences(found / size, expected) < 1e-5


def test_what_is_out_of_range_stays_finite() -> None:
    net, observation = network(jax.random.key(0), out=1), jnp.full((ROWS, 2), 1e9)

    def total(action: Array) -> Array:
        return jnp.sum(two_hidden((net,), (observation, action), How(64, 1, interpret=True)))

    value, gradient = jax.value_and_grad(total)(jnp.ones((ROWS, 1)))
    assert jnp.isfinite(value)
    assert jnp.all(jnp.isfinite(gradient))


def test_a_small_difference_of_large_numbers_is_good_to_eleven_bits() -> None:
    """As of a critic whose network has learnt to cancel its prior. Operands of eight bits leave eight times as much."""
    prior = network(jax.random.key(0), out=1)
    three = prior._replace(second=3 * prior.second, second_bias=3 * prior.second_bias)
    parts = (jax.random.normal(jax.random.key(1), (ROWS, 2)), jax.random.normal(jax.random.key(2), (ROWS, 1)))
    value, prior_value = two_hidden((three, prior), parts, How(64, 1, interpret=True))
    left = value - 3 * prior_value + 2 * prior.last_bias
    assert float(jnp.std(left) / jnp.std(3 * prior_value)) < 2**-10


def kernels_of(function, *arguments) -> list[str]:
    """Names of the kernels that are left when what nobody uses is left out."""
    lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
    return [name for name in ("forward", "inputs", "parameters") if f"two_hidden_{name}" in lowered]


def test_what_is_not_asked_for_is_not_computed() -> None:
    net, parts = network(jax.random.key(0)), (jnp.ones((ROWS, 2)), jnp.ones((ROWS, 1)))

    def loss(net: Layers, observation: Array, action: Array) -> Array:
        return jnp.sum(two_hidden((net,), (observation, action), HOW["many"]) ** 2)

    assert kernels_of(loss, net, *parts) == ["forward"]
    assert kernels_of(jax.grad(loss), net, *parts) == ["forward", "parameters"]
    assert kernels_of(jax.grad(loss, argnums=2), net, *parts) == ["forward", "inputs"]
    value = network(jax.random.key(0), out=1)
    assert kernels_of(jax.grad(loss, argnums=2), value, *parts) == ["inputs"]


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlp, "on_nvidia", lambda: True)
    monkeypatch.setattr(
        fused, "two_hidden", lambda nets, parts, how: two_hidden(nets, parts, how._replace(interpret=True))
    )


@pytest.mark.parametrize("hidden", [(128, 128), (64, 64), (128,), (128, 128, 128)])
def test_networks_are_the_same_with_and_without_kernels(
    hidden: tuple[int, ...], as_on_a_gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken where they fit; elsewhere plain products are."""
    taken = []
    kernels = fused.two_hidden
    monkeypatch.setattr(fused, "two_hidden", lambda *given: taken.append(given) or kernels(*given))
    make = partial(MLP.glorot, num_inputs=3, hidden=hidden, fused="few")
    critic = WithPrior(make(jax.random.key(0)), make(jax.random.key(1)), jnp.asarray(10.0))
    inputs = (jax.random.normal(jax.random.key(2), (64, 2)), jax.random.normal(jax.random.key(3), (64, 1)))
    found = critic(inputs)
    assert len(taken) == (hidden == (128, 128))
    with jax.default_matmul_precision("float32"):
        critic(inputs)
    assert len(taken) == (hidden == (128, 128)), "a precision was asked for"
    monkeypatch.setattr(mlp, "on_nvidia", lambda: False)
    np.testing.assert_allclose(found, critic(inputs), rtol=0, atol=2e-2 * float(jnp.std(found)))


def test_sizes_that_do_not_fit_are_known() -> None:
    net = network(jax.random.key(0))
    assert fused.fits(net, 64, HOW["many"])
    assert not fused.fits(net, 65, HOW["many"])
    assert not fused.fits(net, 0, HOW["many"])
    assert not fused.fits(net._replace(second=jnp.ones((WIDTH, WIDTH), jnp.bfloat16)), 64, HOW["many"])
    assert not fused.fits(net._replace(first=jnp.ones((WIDTH, 33))), 64, HOW["many"])
