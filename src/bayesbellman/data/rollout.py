"""Episodes of a fixed length driven by given noise: for data that must come from a stated stream of random numbers."""

import jax
from jaxtyping import Array, Float, PyTree

from bayesbellman.core.types import Transition
from bayesbellman.data.transition import transition_of
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
        weight = None if target is None else importance_weight(target, behaviour, observation, action)
        return outcome.state, transition_of(env, state, action, outcome, gamma, weight)

    return jax.lax.scan(one_step, env.begin(start_noise), (action_noise, env_noise))[1]
