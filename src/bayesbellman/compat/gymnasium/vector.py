"""Steps of a vector environment, in any of its ways to reset."""

import contextlib
from collections.abc import Callable

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from jaxtyping import Bool, Float

from bayesbellman.compat.gymnasium.faults import (
    RAISED,
    EnvironmentFailed,
    Place,
    read_numbers,
    read_observation,
    unpack,
)
from bayesbellman.compat.gymnasium.sources import AbstractSource, Played, episode_seed
from bayesbellman.compat.gymnasium.spaces import AnyEnv, name_of, raw_spaces


class Vector(AbstractSource):
    """A vector environment. If it fails, all of its episodes are cut."""

    def __init__(self, env: VectorEnv, make: Callable[[], AnyEnv] | None, restarts: int) -> None:
        self.env, self.make, self.restarts = env, make, restarts
        self.name, self.num_envs, self.mode = name_of(env), env.num_envs, autoreset_mode(env)
        self.resets_itself = self.mode != AutoresetMode.DISABLED
        self.observation_space = raw_spaces(env).observation
        self.seed = self._first_seed = 0
        self._latest = np.zeros((self.num_envs, int(np.prod(self.observation_space.shape))), dtype=np.float32)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._failed = False

    def reset(self, seed: int) -> Float[np.ndarray, "n d"]:
        self.seed = self._first_seed = seed
        return self._reset()

    def step(self, actions: np.ndarray) -> Played:
        place = Place(self.name, None, self.seed, self.steps, None, actions)
        self.steps += 1
        if self._failed:  # in a reset of some, after their last step: now all are cut
            return self._cut()
        try:
            result = self.env.step(actions.copy())
        except RAISED as error:
            self.survive("step", error, place)
            self._failed = True
            return self._cut()
        observation, reward, terminated, truncated, info = unpack("step", result, 5, place)
        before, self._latest = self._latest, self._observations(observation, place)
        reward = read_numbers("reward", reward, (self.num_envs,), place)
        terminated = read_numbers("terminated", terminated, (self.num_envs,), place).astype(bool)
        truncated = read_numbers("truncated", truncated, (self.num_envs,), place).astype(bool)
        if self.mode == AutoresetMode.NEXT_STEP:
            # After an end the next step resets and ignores its action: not a transition.
            real = ~self._ended
            successor = np.where(real[:, None], self._latest, before)
            return Played(successor, np.where(real, reward, 0), terminated & real, truncated & real, real)
        successor = self._latest.copy()
        if self.mode == AutoresetMode.SAME_STEP:
            for environment in np.flatnonzero(terminated | truncated):
                successor[environment] = self._final(info, int(environment), place)
        return Played(successor, reward, terminated, truncated, np.ones(self.num_envs, dtype=bool))

    def begin(self, ended: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        if self._failed:
            self._remake()
            self.seed = episode_seed(self._first_seed, 0, self.failures)  # not the start that led to the failure
            return self._reset()
        self._ended = ended
        if self.mode == AutoresetMode.DISABLED and ended.any():
            place = Place(self.name, None, self.seed, self.steps, None)
            try:
                result = self.env.reset(options={"reset_mask": ended.copy()})
            except RAISED as error:
                self.survive("reset", error, place)
                self._failed = True
                return self._latest.copy()
            fresh = self._observations(unpack("reset", result, 2, place)[0], place)
            self._latest = np.where(ended[:, None], fresh, self._latest)
        return self._latest.copy()

    def place(self, environment: int, action: object = None) -> Place:
        return Place(self.name, environment, self.seed, self.steps, None, action)

    def close(self) -> None:
        self.closed(self.env, Place(self.name, None, self.seed, self.steps, None))

    def _reset(self) -> Float[np.ndarray, "n d"]:
        while True:
            place = Place(self.name, None, self.seed, self.steps, None)
            try:
                result = self.env.reset(seed=self.seed)
                break
            except RAISED as error:
                self.survive("reset", error, place)
                self._remake()
        self._failed, self._ended = False, np.zeros(self.num_envs, dtype=bool)
        self._latest = self._observations(unpack("reset", result, 2, place)[0], place)
        return self._latest.copy()

    def _cut(self) -> Played:
        every = np.ones(self.num_envs, dtype=bool)
        return Played(self._latest.copy(), np.zeros(self.num_envs, np.float32), ~every, every, ~every)

    def _remake(self) -> None:
        if self.make is None:
            return
        with contextlib.suppress(*RAISED):
            self.env.close()
        env = self.made_again(self.make, Place(self.name, None, self.seed, self.steps, None))
        assert isinstance(env, VectorEnv)
        self.env = env

    def _observations(self, given: object, place: Place) -> Float[np.ndarray, "n d"]:
        shape = (self.num_envs, *self.observation_space.shape)
        return read_numbers("observation", given, shape, place).reshape(self.num_envs, -1)

    def _final(self, info: dict, environment: int, place: Place) -> Float[np.ndarray, " d"]:
        if "final_obs" not in info or info["final_obs"][environment] is None:
            what = "an episode ended, and info has no 'final_obs' for it, which SAME_STEP promises"
            raise EnvironmentFailed(what, place)
        return read_observation(info["final_obs"][environment], self.observation_space, place)


def autoreset_mode(env: VectorEnv) -> AutoresetMode:
    """When a vector environment resets those that ended: it must say so itself."""
    mode = (env.metadata or {}).get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            f"{name_of(env)}: env.metadata['autoreset_mode'] is {mode!r}; set it to the"
            " gymnasium.vector.AutoresetMode that the environment has: its last observations depend on it"
        )
    return mode
