"""Episodes of a fixed length driven by given noise: for data that must come from a stated stream of random numbers."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bayesbellman.core.types import Transition, effective_discount
from bayesbellman.envs.base import AbstractNoiseDrivenEnv
from bayesbellman.nn.policies import AbstractPolicy, importance_weight


def rollout(
    env: AbstractNoiseDrivenEnv,
    behaviour: AbstractPolicy,
    target: AbstractPolicy | None,
    start_noise: Float[Array, "..."],
    action_noise: Float[Array, "L ..."],
    env_noise: Float[Array, "L ..."],
    gamma: float | Float[Array, ""],
) -> Transition:
    """One episode of L transitions by the behaviour policy. Nothing resets; pure: jit it, vmap it over episodes.

    Weights are those of the target policy; without one the data are on-policy, and they are 1.
    """

    def one_step(state: PyTree, noise: tuple[Array, Array]) -> tuple[PyTree, Transition]:
        observation = env.observe(state)
        action = behaviour.act(noise[0], observation)
        outcome = env.advance(noise[1], state, action)
        weight = jnp.ones_like(outcome.reward)
        if target is not None:
            weight = importance_weight(target, behaviour, observation, action)
        transition = Transition(
            observation=observation,
            action=action,
            reward=outcome.reward,
            discount=effective_discount(jnp.asarray(gamma, outcome.reward.dtype), outcome.terminated),
            next_observation=env.observe(outcome.state),
            weight=weight,
        )
        return outcome.state, transition

    return jax.lax.scan(one_step, env.begin(start_noise), (action_noise, env_noise))[1]
