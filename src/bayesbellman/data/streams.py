"""Where the random numbers of training data come from: our own generator, or the benchmark's in the benchmark's order.

The benchmark draws everything from NumPy's legacy generator (MT19937), seeded with the run's number. With
``"reference"`` the same numbers come in the same order, so that its trajectories come out, transition by transition.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

Streams = Literal["own", "reference"]


class EpisodeNoise(NamedTuple):
    """What drives a run's episodes: noise for each start, each action, each step of the environment."""

    start: Float[np.ndarray, "E ..."]
    action: Float[np.ndarray, "E L ..."]
    env: Float[np.ndarray, "E L ..."]


def generator(streams: Streams, seed: int) -> np.random.RandomState | np.random.Generator:
    """The generator of one run."""
    if streams not in get_args(Streams):
        raise ValueError(f"streams is {streams!r}; accepted are {', '.join(get_args(Streams))}")
    return np.random.RandomState(seed) if streams == "reference" else np.random.default_rng(seed)


def uniform_episodes(rng: np.random.RandomState | np.random.Generator, episodes: int, length: int) -> EpisodeNoise:
    """Finite processes: a number for the start, then for each step one for the action and one for the successor."""
    numbers = rng.random((episodes, 1 + 2 * length))
    return EpisodeNoise(numbers[:, 0], numbers[:, 1::2], numbers[:, 2::2])


def normal_episodes(
    rng: np.random.RandomState | np.random.Generator, episodes: int, length: int, num_states: int, num_actions: int
) -> EpisodeNoise:
    """Linear-quadratic processes: an episode's process noise first, then the noise of its actions. Starts are fixed."""
    env, action = np.empty((episodes, length, num_states)), np.empty((episodes, length, num_actions))
    for episode in range(episodes):
        env[episode] = rng.standard_normal((length, num_states))
        action[episode] = rng.standard_normal((length, num_actions))
    return EpisodeNoise(np.zeros((episodes, num_states)), action, env)
