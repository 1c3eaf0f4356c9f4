"""The promises that every posterior, estimator and environment keeps, each as one function.

A newcomer joins by adding a row to the table in its test file; nothing here changes. Functions are best given compiled,
as one that many promises are tried on: compiling is most of what a test costs.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RTOL = {np.dtype("float32"): 2e-4, np.dtype("float64"): 1e-9}
"""Compiled and uncompiled code, or a batch and a loop, may round differently; float32 solves amplify it."""


def leaves(tree: Any) -> list[np.ndarray]:
    """As NumPy arrays; random keys as the numbers they are made of."""
    plain = [
        jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
        for x in map(jnp.asarray, jax.tree.leaves(tree))
    ]
    return [np.asarray(x) for x in plain]


def assert_close(a: Any, b: Any, scale: float = 1.0) -> None:
    """Two pytrees have one structure, one set of types, and the same numbers to rounding."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(leaves(a), leaves(b), strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        if x.dtype.kind == "f":
            tolerance = RTOL[x.dtype] * scale
            np.testing.assert_allclose(
                x, y, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(y).max(initial=0.0)))
            )
        else:
            np.testing.assert_array_equal(x, y)


def assert_same_bits(a: Any, b: Any) -> None:
    for x, y in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def differs(a: Any, b: Any) -> bool:
    return any(not np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


def jit_equals_eager(function: Callable, *arguments: Any) -> None:
    with jax.disable_jit():
        eager = function(*arguments)
    assert_close(jax.jit(lambda *given: function(*given))(*arguments), eager)


def vmap_equals_loop(function: Callable, *batched: Any) -> None:
    size = jax.tree.leaves(batched)[0].shape[0]
    looped = [function(*jax.tree.map(lambda x, i=i: x[i], batched)) for i in range(size)]
    together = jax.vmap(function)(*batched)
    assert jax.tree.structure(together) == jax.tree.structure(looped[0])
    assert_close(leaves(together), [np.stack(parts) for parts in zip(*map(leaves, looped), strict=True)])


def same_seed_repeats(function: Callable) -> None:
    assert_same_bits(function(jax.random.key(7)), function(jax.random.key(7)))


def two_seeds_differ(function: Callable) -> None:
    assert differs(function(jax.random.key(7)), function(jax.random.key(8)))


def changed_float_does_not_recompile(function: Callable, make: Callable[[float], Any], *arguments: Any) -> None:
    """``function(settings, *arguments)`` is traced once for two settings that differ in a float, and they matter."""
    traces = 0

    def counted(settings: Any, *rest: Any) -> Any:
        nonlocal traces
        traces += 1
        return function(settings, *rest)

    traced = jax.jit(counted)
    for value in (1.0, 1.7):
        traced.eval_shape(make(value), *arguments)
    assert traces == 1
    assert differs(function(make(1.0), *arguments), function(make(1.7), *arguments)), "the float was not used"


def state_can_be_scanned(step: Callable[[Any], Any], state: Any) -> None:
    """A step keeps the state's structure, shapes and types, so that a scan can carry it."""

    def described(function: Callable[[Any], Any]) -> Any:
        return jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), jax.eval_shape(function, state))

    assert described(step) == described(lambda state: state)
