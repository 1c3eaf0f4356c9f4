"""A linear policy-evaluation problem: process, policies, features, and the truth that estimates are held against."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bayesbellman.core.types import Transition
from bayesbellman.data.interact import Experience
from bayesbellman.data.rollout import rollout
from bayesbellman.data.streams import EpisodeNoise, Streams, generator, normal_episodes, uniform_episodes
from bayesbellman.envs.base import AbstractNoiseDrivenEnv
from bayesbellman.envs.linear_quadratic import LinearQuadratic
from bayesbellman.nn.features import AbstractFeatures
from bayesbellman.nn.policies import AbstractPolicy


class EvaluationMeasure(NamedTuple):
    """mu: the states whose values are asked for, how much each counts, their features and their true values."""

    weights: Float[np.ndarray, " M"]
    features: Float[np.ndarray, "M n"]
    values: Float[np.ndarray, " M"]


class LinearProblem(eqx.Module):
    """Evaluate ``target`` from data of ``behaviour``, linearly in ``features``."""

    env: AbstractNoiseDrivenEnv
    behaviour: AbstractPolicy
    target: AbstractPolicy | None
    """None: the behaviour policy itself."""
    features: AbstractFeatures
    gamma: float
    measure: EvaluationMeasure

    def episode_noise(
        self, rng: np.random.RandomState | np.random.Generator, episodes: int, length: int
    ) -> EpisodeNoise:
        """The numbers that episodes of this process consume, in the benchmark's order."""
        if isinstance(self.env, LinearQuadratic):
            return normal_episodes(rng, episodes, length, *self.env.control.shape)
        return uniform_episodes(rng, episodes, length)

    def experience(self, seeds: Sequence[int], episodes: int, length: int, streams: Streams = "own") -> Experience:
        """Training data, one row per seed: ``episodes`` episodes of ``length`` transitions, one after the other.

        Observations are states, not features: with 200 features those would not fit in memory for many runs at once.
        """
        if not seeds:
            raise ValueError("seeds is empty; give the seed of one run or more")
        drawn = [self.episode_noise(generator(streams, seed), episodes, length) for seed in seeds]
        noise = jax.tree.map(lambda *parts: jnp.asarray(np.concatenate(parts), dtype=float), *drawn)
        episodes_of_all = _rollouts(self.env, self.behaviour, self.target, noise, self.gamma)
        shape = (len(seeds), episodes * length)
        transitions = jax.tree.map(lambda x: x.reshape(shape + x.shape[2:]), episodes_of_all)
        if not bool(jnp.all(jnp.isfinite(transitions.weight))):
            raise ValueError(
                "some importance weights are not finite: the behaviour policy must have a density wherever the target"
                " policy acts (a variance of 0 has none)"
            )
        restarts = jnp.broadcast_to(jnp.arange(shape[1]) % length == 0, shape)
        return Experience(transitions, restarts)


@eqx.filter_jit
def _rollouts(
    env: AbstractNoiseDrivenEnv,
    behaviour: AbstractPolicy,
    target: AbstractPolicy | None,
    noise: EpisodeNoise,
    gamma: float | Float[Array, ""],
) -> Transition:
    def one(start: Array, action: Array, env_noise: Array) -> Transition:
        return rollout(env, behaviour, target, start, action, env_noise, gamma)

    return jax.vmap(one)(*noise)  # pyright: ignore[reportArgumentType] (JAX arrays by now)


def visited(env: AbstractNoiseDrivenEnv, policy: AbstractPolicy, noise: EpisodeNoise) -> np.ndarray:
    """The states that episodes with this noise pass through, starts included: ``E L`` of them, in order."""
    transitions = _rollouts(env, policy, None, jax.tree.map(lambda x: jnp.asarray(x, dtype=float), noise), 1.0)
    states = np.asarray(transitions.observation)
    return states.reshape(-1, *states.shape[2:])
