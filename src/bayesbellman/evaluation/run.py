"""One runner for every linear estimator: a scan over transitions that records the error of the values on its way.

The error is ``RMSE = sqrt(sum_s mu(s) (v(s)^T omega - V(s))^2)`` over an evaluation measure mu.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bayesbellman.core.types import Transition
from bayesbellman.data.interact import Experience
from bayesbellman.data.problems import EvaluationMeasure
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.nn.features import AbstractFeatures

CACHE_BYTES = 500_000
"""Runs are taken together while their states stay below this: beyond, a run's matrices leave the processor's cache."""


class LinearValueError(eqx.Module):
    """``MSE(omega) = |root omega - projection|^2 + rest``: the error over any number of states, in n rows.

    By the QR decomposition of the weighted features, so that no digits are lost to squaring them.
    """

    root: Float[Array, "n n"]
    projection: Float[Array, " n"]
    rest: Float[Array, ""]
    """What no omega can remove: the truth's part outside the features' span."""

    @classmethod
    def over(cls, measure: EvaluationMeasure) -> "LinearValueError":
        scale = np.sqrt(measure.weights)
        basis, root = np.linalg.qr(scale[:, None] * measure.features)
        target = scale * measure.values
        projection = basis.T @ target
        rest = np.sum((target - basis @ projection) ** 2)
        return cls(jnp.asarray(root, dtype=float), jnp.asarray(projection, dtype=float), jnp.asarray(rest, dtype=float))

    def mse(self, estimator: AbstractEstimator, state: Any) -> Float[Array, ""]:
        """Of the values that the estimator would give now."""
        values = estimator.value(state, self.root.astype(_precision(state)))
        return jnp.sum((values.astype(self.root.dtype) - self.projection) ** 2) + self.rest

    def rmse(self, estimator: AbstractEstimator, state: Any) -> Float[Array, ""]:
        """Its root: NaN once the estimate is not finite."""
        mse = self.mse(estimator, state)
        return jnp.where(jnp.isfinite(mse), jnp.sqrt(mse), jnp.nan)


class Checkpoints(NamedTuple):
    """After ``first`` transitions and then every ``every``, ``number`` times in all."""

    first: int
    every: int
    number: int

    @classmethod
    def at(cls, marks: Int[np.ndarray, " K"]) -> "Checkpoints":
        steps = np.diff(marks)
        if len(marks) == 0 or marks[0] < 0 or (steps != steps[:1]).any() or (steps <= 0).any():
            raise ValueError("checkpoints must be numbers of transitions >= 0, rising in equal steps")
        return cls(int(marks[0]), int(steps[0]) if len(steps) else 0, len(marks))


def learning_curve(
    key: Key[Array, ""],
    estimator: AbstractEstimator,
    experience: Experience,
    features: AbstractFeatures,
    error: LinearValueError,
    checkpoints: Checkpoints,
) -> Float[Array, " K"]:
    """RMSE at each checkpoint of one run, transition by transition. Pure: jit it, vmap it over runs and settings."""
    init_key, first_key, rest_key = jax.random.split(key, 3)
    state = estimator.init(init_key)
    precision = _precision(state)

    def described(part: Transition) -> Transition:
        """In features, which are made stretch by stretch: those of a whole run may not fit in memory."""
        in_features = Transition(
            features(part.observation), None, part.reward, part.discount, features(part.next_observation), part.weight
        )
        return jax.tree.map(lambda x: x.astype(precision), in_features)

    def stretch(state: Any, inputs: tuple[Array, Experience]) -> tuple[Any, Float[Array, ""]]:
        stretch_key, part = inputs
        state = estimator.absorb(stretch_key, state, described(part.transitions), part.restarts)
        return state, error.rmse(estimator, state)

    first, every, number = checkpoints
    state, start = stretch(state, (first_key, jax.tree.map(lambda x: x[:first], experience)))
    stretches = jax.tree.map(
        lambda x: x[first : first + every * (number - 1)].reshape((number - 1, every, *x.shape[1:])), experience
    )
    _, rest = jax.lax.scan(stretch, state, (jax.random.split(rest_key, number - 1), stretches))
    return jnp.concatenate([start[None], rest])


@eqx.filter_jit
def learning_curves(
    key: Key[Array, ""],
    estimator: AbstractEstimator,
    experience: Experience,
    features: AbstractFeatures,
    error: LinearValueError,
    checkpoints: Checkpoints,
) -> Float[Array, "R K"]:
    """`learning_curve` of many runs on their own data, as many side by side as the cache holds."""
    sizes = jax.eval_shape(estimator.init, key)
    state_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(sizes))

    def one(run: tuple[Array, Experience]) -> Float[Array, " K"]:
        return learning_curve(run[0], estimator, run[1], features, error, checkpoints)

    keys = jax.random.split(key, experience.restarts.shape[0])
    return jax.lax.map(one, (keys, experience), batch_size=max(1, CACHE_BYTES // state_bytes))


def _precision(state: Any) -> Any:
    """The floating type that an estimator works in: that of its state."""
    return next(leaf.dtype for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating))
