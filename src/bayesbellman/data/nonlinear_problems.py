"""The three problems of the paper's evaluation with networks: 20-link pendulum, Puddle World, MountainCar.

Data are on-policy. Where the paper draws each transition from a state of its own, uniform over the state space, so do
we; the pendulum's are one trajectory. True values: exact for the pendulum, by rollouts on a grid for the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bayesbellman.core.types import Transition
from bayesbellman.data.interact import Policy, collect
from bayesbellman.data.problems import visited
from bayesbellman.data.rollout_values import rollout_values
from bayesbellman.data.streams import normal_episodes
from bayesbellman.data.transition import transition_of
from bayesbellman.data.truth import linear_quadratic_values, optimal_gain
from bayesbellman.envs.base import AbstractEnv
from bayesbellman.envs.linear_quadratic import linked_pole
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.puddle_world import DOWN, UP, PuddleWorld
from bayesbellman.nn.policies import LinearGaussianPolicy
from bayesbellman.nn.scaling import Scaling

GAMMA = 0.98
GRID = 25
ROLLOUTS, HORIZON = 1000, 1000
ACTION_NOISE = 0.4
"""Variance of the pendulum's actions, as in the linear task of the same name."""
TRAJECTORIES, TRAJECTORY, SEED = 5, 1000, 1000
"""The pendulum's values are asked for at the states of 5 trajectories, drawn once."""


class Truth(NamedTuple):
    """Inputs of the network whose values are asked for, their true values, and the standard errors of those."""

    inputs: Float[np.ndarray, "M d"]
    values: Float[np.ndarray, " M"]
    stderr: Float[np.ndarray, " M"]


@dataclass(frozen=True)
class NonlinearProblem:
    """What to evaluate, from what, against what."""

    name: str
    title: str
    num_inputs: int
    transitions: int
    """The paper's number of them."""
    draw: Callable[[Key[Array, ""], int], Transition]
    """``(key, transitions) -> data``, observations as the network sees them. Pure: jit it, vmap it."""
    truth: Callable[[int], Truth]
    """``rollouts -> truth``; slow where it needs rollouts."""


def grid(low: Float[Array, "2"], high: Float[Array, "2"], side: int = GRID) -> Float[np.ndarray, "M 2"]:
    """Evenly spaced points of a rectangle, its edges included."""
    axes = [np.linspace(float(a), float(b), side) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def independent_transitions(
    key: Key[Array, ""],
    transitions: int,
    env: PuddleWorld | MountainCar,
    policy: Policy,
    begin: Callable[[Array], Any],
) -> Transition:
    """Each from a state uniform over the state space."""
    scaling = Scaling(env.low, env.high)

    def one(key: Key[Array, ""]) -> Transition:
        place_key, act_key, env_key = jax.random.split(key, 3)
        state = begin(jax.random.uniform(place_key, (2,), dtype=float, minval=env.low, maxval=env.high))
        action = policy(act_key, env.observe(state))
        made = transition_of(env, state, action, env.step(env_key, state, action), GAMMA)
        return _as_inputs(made, scaling)

    return jax.vmap(one)(jax.random.split(key, transitions))


def _as_inputs(made: Transition, scaling: Callable[[Array], Array] = lambda x: x) -> Transition:
    """Observations as the network sees them; values of states need no actions."""
    observation, following = scaling(made.observation), scaling(made.next_observation)
    return Transition(observation, None, made.reward, made.discount, following, made.weight)


def grid_truth(
    rollouts: int, seed: int, env: AbstractEnv, policy: Policy, begin: Callable[[Array], Any], low: Array, high: Array
) -> Truth:
    """By rollouts from every point of the grid."""
    places = grid(low, high)
    found = rollout_values(jax.random.key(seed), env, policy, begin, places, GAMMA, rollouts, HORIZON)
    inputs = np.asarray(Scaling(low, high)(jnp.asarray(places, dtype=float)))
    return Truth(inputs, found.values, found.stderr)


def up_or_down(key: Key[Array, ""], observation: Float[Array, "2"]) -> Array:
    """Puddle World's policy: either, with equal probability."""
    return jnp.where(jax.random.bernoulli(key), UP, DOWN)


def bang_bang(key: Key[Array, ""], observation: Float[Array, "2"]) -> Float[Array, "1"]:
    """MountainCar's policy: full force the way the car moves, left at rest."""
    return jnp.where(observation[1] > 0, jnp.ones(1), -jnp.ones(1))


def _puddle_world() -> NonlinearProblem:
    env = PuddleWorld()
    return NonlinearProblem(
        "puddle-world",
        "Puddle World",
        num_inputs=2,
        transitions=20_000,
        draw=partial(independent_transitions, env=env, policy=up_or_down, begin=env.at),
        truth=lambda rollouts: grid_truth(rollouts, 1, env, up_or_down, env.at, env.low, env.high),
    )


def _mountain_car() -> NonlinearProblem:
    env = MountainCar(time_limit=0)

    def begin(place: Float[Array, "2"]) -> Any:
        return env.at(place[0], place[1])

    return NonlinearProblem(
        "mountain-car",
        "MountainCar",
        num_inputs=2,
        transitions=20_000,
        draw=partial(independent_transitions, env=env, policy=bang_bang, begin=begin),
        # Neither the car nor the policy is random: every rollout from a state is the same one.
        truth=lambda rollouts: grid_truth(1, 2, env, bang_bang, begin, env.low, env.high),
    )


@lru_cache
def _pendulum_gain() -> Float[np.ndarray, "D S"]:
    return optimal_gain(linked_pole(), GAMMA)


def _pendulum_policy() -> LinearGaussianPolicy:
    gain = _pendulum_gain()
    return LinearGaussianPolicy(jnp.asarray(gain, dtype=float), jnp.full(len(gain), ACTION_NOISE))


def _pendulum_data(key: Key[Array, ""], transitions: int) -> Transition:
    return _as_inputs(collect(key, linked_pole(), _pendulum_policy(), transitions, GAMMA).transitions)


def _pendulum_truth(rollouts: int) -> Truth:
    env = linked_pole()
    num_states, num_actions = env.control.shape
    noise = normal_episodes(np.random.RandomState(SEED), TRAJECTORIES, TRAJECTORY, num_states, num_actions)
    states = visited(env, _pendulum_policy(), noise)
    exact = linear_quadratic_values(env, _pendulum_gain(), np.full(num_actions, ACTION_NOISE), GAMMA)
    return Truth(states, exact(states), np.zeros(len(states)))


def _pendulum() -> NonlinearProblem:
    return NonlinearProblem(
        "twenty-link",
        "20-link pendulum",
        num_inputs=40,
        transitions=30_000,
        draw=_pendulum_data,
        truth=_pendulum_truth,
    )


PROBLEMS = {problem.name: problem for problem in (_pendulum(), _puddle_world(), _mountain_car())}
"""In the paper's order."""
