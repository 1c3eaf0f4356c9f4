"""Our environments for whoever speaks Gymnasium."""

from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.spaces import Box, Discrete


class AsGymnasium(gymnasium.Env):
    """One of our environments as a ``gymnasium.Env``. Time limits are the environment's own: no wrapper is needed."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, env: AbstractControlEnv) -> None:
        spaces = env.spaces
        self.env = env
        self.render_mode = None
        self.observation_space = _box(spaces.observation)
        self.discrete = isinstance(spaces.action, Discrete)
        self.action_space = (
            gymnasium.spaces.Discrete(spaces.action.number)
            if isinstance(spaces.action, Discrete)
            else _box(spaces.action)
        )
        self._state = None

        @jax.jit
        def begin(key):
            state_key, key = jax.random.split(key)
            state = env.reset(state_key)
            return key, state, env.observe(state)

        @jax.jit
        def advance(key, state, action):
            step_key, key = jax.random.split(key)
            outcome = env.step(step_key, state, action)
            flags = outcome.reward, outcome.terminated, outcome.truncated
            return key, outcome.state, (env.observe(outcome.state), *flags)

        self._begin, self._advance = begin, advance

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._key, self._state, observation = self._begin(jax.random.key(int(self.np_random.integers(2**31))))
        return np.array(observation, dtype=np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        action = jnp.asarray(action, jnp.int32) if self.discrete else jnp.asarray(action, float)
        self._key, self._state, outcome = self._advance(self._key, self._state, action)
        observation, reward, terminated, truncated = jax.device_get(outcome)
        return np.array(observation, dtype=np.float32), float(reward), bool(terminated), bool(truncated), {}


def _box(space: Box) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(np.asarray(space.low), np.asarray(space.high), dtype=np.float32)
