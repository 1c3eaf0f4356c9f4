"""The linear-quadratic problems of the linear benchmark: cart-pole and 20-link pole, on- and off-policy."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from bayesbellman.data.problems import EvaluationMeasure, LinearProblem, visited
from bayesbellman.data.streams import EpisodeNoise, normal_episodes
from bayesbellman.data.truth import linear_quadratic_values, optimal_gain
from bayesbellman.envs.linear_quadratic import LinearQuadratic, balanced_cart_pole, linked_pole
from bayesbellman.nn.features import AbstractFeatures, QuadraticFeatures, SquareFeatures
from bayesbellman.nn.policies import LinearGaussianPolicy

GAMMA = 0.95
SEED, TRAJECTORIES = 1000, 5
"""Features are scaled, and errors measured, on 5 trajectories drawn once with this seed: constants of the problem."""
LOOK_AHEAD = 1000
"""At each state it evaluates at, the benchmark draws this many successors for errors that its tables do not use."""


def cart_pole(
    perfect: bool, behaviour_noise: float, target_noise: float, states: int, quirks: frozenset[str], draw: int
) -> LinearProblem:
    """The balanced cart-pole with squares of the state only (4 features), or with every quadratic value (11)."""
    kind = QuadraticFeatures if perfect else SquareFeatures
    return _problem(balanced_cart_pole(), kind, behaviour_noise, target_noise, states, quirks)


def twenty_links(
    behaviour_noise: float, target_noise: float, states: int, quirks: frozenset[str], draw: int
) -> LinearProblem:
    """The pole of 20 links with squares of the state (40 features)."""
    return _problem(linked_pole(), SquareFeatures, behaviour_noise, target_noise, states, quirks)


def _problem(
    env: LinearQuadratic,
    kind: type[SquareFeatures] | type[QuadraticFeatures],
    behaviour_noise: float,
    target_noise: float,
    states: int,
    quirks: frozenset[str],
) -> LinearProblem:
    num_states, num_actions = env.control.shape
    gain = optimal_gain(env, GAMMA)

    def policy(variance: float) -> LinearGaussianPolicy:
        return LinearGaussianPolicy(
            jnp.asarray(gain, dtype=float), jnp.full(num_actions, variance), "density-sum" in quirks
        )

    behaviour, target = policy(behaviour_noise), policy(target_noise)
    noise = normal_episodes(np.random.RandomState(SEED), TRAJECTORIES, states, num_states, num_actions)
    features = _scaled(kind, visited(env, target, noise))
    places = visited(env, behaviour, _evaluation_noise(num_states, num_actions, states))
    truth = linear_quadratic_values(env, gain, np.full(num_actions, target_noise), GAMMA)
    return LinearProblem(
        env=env,
        behaviour=behaviour,
        target=None if behaviour_noise == target_noise else target,
        features=features,
        gamma=GAMMA,
        measure=EvaluationMeasure(
            weights=np.full(len(places), 1 / len(places)),
            features=np.asarray(features(jnp.asarray(places)), dtype=np.float64),
            values=truth(places),
        ),
    )


def _scaled(kind: type[SquareFeatures] | type[QuadraticFeatures], states: Float[np.ndarray, "N S"]) -> AbstractFeatures:
    """Features over their standard deviation at the states that the target policy passes; what is constant stays."""
    dim = states.shape[1]
    size = dim if kind is SquareFeatures else dim * (dim + 1) // 2 + 1
    raw = np.asarray(kind(jnp.ones(size))(jnp.asarray(states)))
    deviation = raw.std(axis=0)
    return kind(jnp.asarray(np.where(deviation > 0, deviation, 1.0), dtype=float))


@lru_cache
def _evaluation_noise(num_states: int, num_actions: int, length: int) -> EpisodeNoise:
    """Noise of the evaluation trajectories; in the benchmark's order a step's draws come after those of the look-ahead.

    Drawing and dropping the look-ahead takes seconds for the 20-link pole, hence the cache.
    """
    rng = np.random.RandomState(SEED)
    width = num_states + num_actions
    kept = np.empty((TRAJECTORIES, length, width))
    for place in np.ndindex(TRAJECTORIES, length):
        kept[place] = rng.standard_normal((LOOK_AHEAD + 1) * width)[-width:]
    return EpisodeNoise(np.zeros((TRAJECTORIES, num_states)), kept[..., num_states:], kept[..., :num_states])
