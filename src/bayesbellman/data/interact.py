"""Interaction with an environment: the only place where episodes reset."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PyTree

from bayesbellman.core.types import Transition
from bayesbellman.data.transition import transition_of
from bayesbellman.envs.base import AbstractEnv

Policy = Callable[[Key[Array, ""], Any], Any]
"""``(key, observation) -> action``"""


class Experience(NamedTuple):
    """Transitions in the order they were met, and which of them began an episode."""

    transitions: Transition
    restarts: Bool[Array, " steps"]


def collect(
    key: Key[Array, ""], env: AbstractEnv, policy: Policy, num_steps: int, gamma: float | Float[Array, ""]
) -> Experience:
    """Run the policy for ``num_steps`` transitions, starting a new episode after each end. Pure: jit it, vmap it.

    Each transition is built before any reset, with the true successor, so a truncated episode bootstraps from it.
    """

    def one_step(carry: tuple[PyTree, Array], step_key: Key[Array, ""]) -> tuple[tuple[PyTree, Array], tuple]:
        state, restarted = carry
        act_key, env_key, reset_key = jax.random.split(step_key, 3)
        action = policy(act_key, env.observe(state))
        outcome = env.step(env_key, state, action)
        transition = transition_of(env, state, action, outcome, gamma)
        ended = outcome.terminated | outcome.truncated
        following = jax.tree.map(
            lambda fresh, going_on: jnp.where(ended, fresh, going_on), env.reset(reset_key), outcome.state
        )
        return (following, ended), (transition, restarted)

    reset_key, scan_key = jax.random.split(key)
    start = (env.reset(reset_key), jnp.asarray(True))
    _, (transitions, restarts) = jax.lax.scan(one_step, start, jax.random.split(scan_key, num_steps))
    return Experience(transitions, restarts)
