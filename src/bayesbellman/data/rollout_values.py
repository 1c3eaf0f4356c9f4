"""True values by rolling the policy out from given states, many times each."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from bayesbellman.data.interact import Policy
from bayesbellman.envs.base import AbstractEnv


class RolloutValues(NamedTuple):
    """Mean discounted return from each state, and its standard error (0 where all returns are equal)."""

    values: Float[np.ndarray, " M"]
    stderr: Float[np.ndarray, " M"]


def rollout_values(
    key: Key[Array, ""],
    env: AbstractEnv,
    policy: Policy,
    begin: Callable[[Array], Any],
    places: Float[np.ndarray, "M d"],
    gamma: float,
    rollouts: int,
    horizon: int = 1000,
    chunk: int = 50,
) -> RolloutValues:
    """``rollouts`` episodes of at most ``horizon`` steps from each place, ``chunk`` of them at a time side by side.

    ``begin(place)`` is the environment's state there. What lies beyond the horizon is left out: at most
    ``gamma^horizon`` of a value, 2e-9 for 0.98 and 1,000. Returns are summed in the environment's precision, their
    moments in float64.
    """
    if rollouts < 1 or horizon < 1 or chunk < 1:
        raise ValueError(f"rollouts, horizon and chunk are {rollouts}, {horizon}, {chunk}; each must be >= 1")
    starts = jax.vmap(begin)(jnp.asarray(places, dtype=float))
    chunks = []
    for first in range(0, rollouts, chunk):
        keys = jax.random.split(jax.random.fold_in(key, first), (min(chunk, rollouts - first), len(places)))
        chunks.append(_returns(env, policy, horizon, keys, starts, jnp.asarray(gamma, dtype=float)))
    returns = np.concatenate([np.asarray(part, np.float64) for part in chunks])
    return RolloutValues(np.mean(returns, axis=0), np.std(returns, axis=0) / np.sqrt(max(rollouts - 1, 1)))


@partial(jax.jit, static_argnums=(1, 2))
def _returns(
    env: AbstractEnv,
    policy: Policy,
    horizon: int,
    keys: Key[Array, "chunk M"],
    starts: PyTree[Array],
    gamma: Float[Array, ""],
) -> Float[Array, "chunk M"]:
    def one(key: Key[Array, ""], start: PyTree) -> Float[Array, ""]:
        def going_on(carry: tuple) -> Array:
            time, _, _, alive = carry
            return alive & (time < horizon)

        def step(carry: tuple) -> tuple:
            time, state, gathered, _ = carry
            act_key, env_key = jax.random.split(jax.random.fold_in(key, time))
            outcome = env.step(env_key, state, policy(act_key, env.observe(state)))
            worth = gamma ** time.astype(gamma.dtype) * outcome.reward
            return time + 1, outcome.state, gathered + worth, ~outcome.terminated

        begun = (jnp.zeros((), jnp.int32), start, jnp.zeros((), gamma.dtype), jnp.asarray(True))
        return jax.lax.while_loop(going_on, step, begun)[2]

    return jax.vmap(jax.vmap(one), in_axes=(0, None))(keys, starts)
