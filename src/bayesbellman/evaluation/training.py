"""Training of non-linear evaluators on a data set: mini-batches drawn from it, in one compiled scan."""

from typing import Any

import jax
from jaxtyping import Array, Key

from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator


def train(
    key: Key[Array, ""], estimator: AbstractEstimator, state: Any, data: Transition, steps: int, batch_size: int | None
) -> tuple[Any, Metrics]:
    """``steps`` updates, each on a batch drawn with replacement, or on all data if ``batch_size`` is None.

    Returns the state after them and the metrics of each. Pure: jit it, vmap it over members, seeds and settings.
    """
    rows = data.reward.shape[0]

    def one(state: Any, step_key: Key[Array, ""]) -> tuple[Any, Metrics]:
        draw_key, update_key = jax.random.split(step_key)
        batch = data
        if batch_size is not None:
            chosen = jax.random.randint(draw_key, (batch_size,), 0, rows)
            batch = jax.tree.map(lambda x: x[chosen], data)
        return estimator.update(update_key, state, batch)

    return jax.lax.scan(one, state, jax.random.split(key, steps))
