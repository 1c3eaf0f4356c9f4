"""One step of an environment as a transition, whoever takes it."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from bayesbellman.core.types import Transition, effective_discount
from bayesbellman.envs.base import AbstractEnv, EnvStep


def transition_of(
    env: AbstractEnv,
    state: Any,
    action: Any,
    outcome: EnvStep,
    gamma: float | Float[Array, ""],
    weight: Float[Array, ""] | None = None,
) -> Transition:
    """From the state left to the true successor, before any reset; a time limit leaves the discount as it is.

    ``weight``: the importance weight; without it 1.
    """
    return Transition(
        observation=env.observe(state),
        action=action,
        reward=outcome.reward,
        discount=effective_discount(jnp.asarray(gamma, outcome.reward.dtype), outcome.terminated),
        next_observation=env.observe(outcome.state),
        weight=jnp.ones_like(outcome.reward) if weight is None else weight,
    )
