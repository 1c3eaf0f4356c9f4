"""Where steps come from, and environments that are stepped one by one."""

import abc
import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import gymnasium
import numpy as np
from jaxtyping import Bool, Float

from bayesbellman.compat.gymnasium.faults import (
    RAISED,
    EnvironmentFailed,
    EnvironmentWarning,
    Place,
    read_flag,
    read_observation,
    read_reward,
    said,
    unpack,
)
from bayesbellman.compat.gymnasium.spaces import Action, AnyEnv, name_of, raw_spaces
from bayesbellman.core.errors import warn


class Played(NamedTuple):
    """One step of every environment. ``successor`` is the true one, also where an episode ended."""

    successor: Float[np.ndarray, "n d"]
    reward: Float[np.ndarray, " n"]
    terminated: Bool[np.ndarray, " n"]
    truncated: Bool[np.ndarray, " n"]
    valid: Bool[np.ndarray, " n"]
    """False: no transition took place."""


RESTARTS = (
    "; restarts=k (agents: on_env_error='restart', bbo train: --on-env-error restart) would begin a new episode,"
    " up to k times"
)


class AbstractSource(abc.ABC):
    """Environments that are stepped together. Use: `reset`, and then `step` and `begin` in turn."""

    name: str
    num_envs: int
    resets_itself: bool
    """Then an episode cannot be cut from outside."""
    failures: int = 0
    restarts: int
    """How many failures are survived."""
    steps: int = 0

    @abc.abstractmethod
    def reset(self, seed: int) -> Float[np.ndarray, "n d"]:
        """The first observations of all."""

    @abc.abstractmethod
    def step(self, actions: np.ndarray) -> Played:
        """One step of all."""

    @abc.abstractmethod
    def begin(self, ended: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        """The observations to act on after a step: first ones where episodes ended, successors elsewhere."""

    @abc.abstractmethod
    def place(self, environment: int, action: object = None) -> Place:
        """Where one of them is."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close all."""

    def closed(self, env: AnyEnv, place: Place) -> None:
        """Close one. What goes wrong then is said, and spoils nothing that was done before."""
        try:
            env.close()
        except RAISED as error:
            warn(f"{place}: close() {said(error)}", EnvironmentWarning)

    def made_again(self, make: Callable[[], AnyEnv], place: Place) -> AnyEnv:
        """In place of one that failed. A simulator may need more than one attempt: each is a failure like others."""
        while True:
            try:
                return make()
            except RAISED as error:
                self.survive("make", error, place)

    def survive(self, method: str, error: BaseException, place: Place) -> None:
        """Count a failure; raise if there were too many."""
        self.failures += 1
        what = f"{method}() {said(error)}"
        if self.failures > self.restarts:
            hint = "" if self.restarts else RESTARTS
            raise EnvironmentFailed(what + hint, place) from error
        warn(f"{place}: {what}; a new episode begins (restart {self.failures} of {self.restarts})", EnvironmentWarning)


class Several(AbstractSource):
    """Environments one by one, reset here after each end.

    Every episode has a seed of its own, so that any of them can be played again without those before it: the first
    episode of environment i has ``seed + i``, as in Gymnasium's vectors, and later ones what `episode_seed` says.
    """

    resets_itself = False

    def __init__(self, envs: Sequence[gymnasium.Env], make: Callable[[], AnyEnv] | None, restarts: int) -> None:
        self.envs, self.make, self.restarts = list(envs), make, restarts
        self.name, self.num_envs = name_of(self.envs[0]), len(self.envs)
        self.observation_space = raw_spaces(self.envs[0]).observation
        self.seed = 0
        self.episodes = np.zeros(self.num_envs, dtype=np.int64)
        self._seeds = [0] * self.num_envs
        self.played: list[list[Action]] = [[] for _ in self.envs]
        """The actions of each running episode, as the environments were given them"""
        self._latest = np.zeros((self.num_envs, int(np.prod(self.observation_space.shape))), dtype=np.float32)

    def reset(self, seed: int) -> Float[np.ndarray, "n d"]:
        return self.jump(seed, np.zeros(self.num_envs, dtype=np.int64))

    def jump(self, seed: int, episodes: np.ndarray) -> Float[np.ndarray, "n d"]:
        """The first observations of these episodes."""
        self.seed, self.episodes = seed, np.array(episodes)
        for environment in range(self.num_envs):
            self._latest[environment] = self._reset(environment)
        return self._latest.copy()

    def replay(
        self, seed: int, episodes: np.ndarray, lengths: np.ndarray, actions: np.ndarray
    ) -> Float[np.ndarray, "n d"]:
        """These episodes again, each with as many of the actions as its length says. Where they lead."""
        self.jump(seed, episodes)
        of_each = np.split(actions, np.cumsum(lengths)[:-1])
        for environment, its_actions in enumerate(of_each):
            for action in its_actions:
                self._latest[environment], *_ = self._step(environment, action)
        return self._latest.copy()

    def step(self, actions: np.ndarray) -> Played:
        rows = [self._step(environment, action) for environment, action in enumerate(actions)]
        self.steps += 1
        successor, reward, *flags = zip(*rows, strict=True)
        self._latest = np.stack(successor)
        return Played(self._latest.copy(), np.array(reward, np.float32), *(np.array(flag, bool) for flag in flags))

    def begin(self, ended: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        for environment in np.flatnonzero(ended):
            self.episodes[environment] += 1
            self._latest[environment] = self._reset(int(environment))
        return self._latest.copy()

    def place(self, environment: int, action: object = None) -> Place:
        return Place(
            self.name, environment, self._seeds[environment], self.steps, len(self.played[environment]), action
        )

    def close(self) -> None:
        for environment, env in enumerate(self.envs):
            self.closed(env, self.place(environment))

    def _step(self, environment: int, action: Action) -> tuple:
        place = self.place(environment, action)
        try:
            result = self.envs[environment].step(action.copy())
        except RAISED as error:
            self.survive("step", error, place)
            self._remake(environment)
            return self._latest[environment], 0.0, False, True, False
        self.played[environment].append(action)
        observation, reward, terminated, truncated, _ = unpack("step", result, 5, place)
        return (
            read_observation(observation, self.observation_space, place),
            read_reward(reward, place),
            read_flag("terminated", terminated, place),
            read_flag("truncated", truncated, place),
            True,
        )

    def _reset(self, environment: int) -> Float[np.ndarray, " d"]:
        self.played[environment] = []
        while True:
            episode = int(self.episodes[environment])
            self._seeds[environment] = seed = episode_seed(self.seed, environment, episode)
            place = self.place(environment)
            try:
                result = self.envs[environment].reset(seed=seed)
                break
            except RAISED as error:
                self.survive("reset", error, place)
                self._remake(environment)
                self.episodes[environment] += 1
        return read_observation(unpack("reset", result, 2, place)[0], self.observation_space, place)

    def _remake(self, environment: int) -> None:
        """A new one in place of one that failed, where we know how to make it; else the old one is reset."""
        if self.make is None:
            return
        with contextlib.suppress(*RAISED):
            self.envs[environment].close()
        env = self.made_again(self.make, self.place(environment))
        assert isinstance(env, gymnasium.Env)
        self.envs[environment] = env


def episode_seed(seed: int, environment: int, episode: int) -> int:
    """What an episode is reset with."""
    if episode == 0:
        return seed + environment
    return int(np.random.SeedSequence((seed, environment, episode)).generate_state(1)[0] >> 1)
