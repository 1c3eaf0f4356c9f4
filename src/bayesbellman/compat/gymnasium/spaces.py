"""Gymnasium's spaces as ours, flat; and our actions as an environment wants them."""

from typing import NamedTuple

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv
from jaxtyping import Array

from bayesbellman.envs.spaces import Box, Discrete, Spaces

AnyEnv = gymnasium.Env | VectorEnv
Action = np.ndarray | np.integer
"""Of one environment, in its own terms"""
SUPPORTED = "supported are Box observations, and Box actions with finite bounds or Discrete actions"
FLATTEN = "gymnasium.wrappers.FlattenObservation(env) makes one vector of it"
TRANSFORM = (
    "gymnasium.wrappers.TransformAction(env, func, action_space=gymnasium.spaces.Box(-1, 1, (d,))) can stand for it"
)


class RawSpaces(NamedTuple):
    """As the environment states them; of one environment where there are several."""

    observation: gymnasium.spaces.Box
    action: gymnasium.spaces.Box | gymnasium.spaces.Discrete


def raw_spaces(env: AnyEnv) -> RawSpaces:
    """The spaces of an environment, if they are of the kinds that agents here can use."""
    prefix = "single_" if isinstance(env, VectorEnv) else ""
    observation = getattr(env, f"{prefix}observation_space", None)
    action = getattr(env, f"{prefix}action_space", None)
    return RawSpaces(_observations(observation, name_of(env)), _actions(action, name_of(env)))


def spaces_of(env: AnyEnv) -> Spaces:
    """The spaces of an environment, or of one of a vector of environments, with every shape flattened.

    Bounds of actions are the environment's own; `HostEnv.step` takes actions within [-1, 1] and scales them to these.
    """
    observation, action = raw_spaces(env)
    if isinstance(action, gymnasium.spaces.Discrete):
        return Spaces(_flat(observation), Discrete(int(action.n)))
    return Spaces(_flat(observation), _flat(action))


def name_of(env: AnyEnv) -> str:
    """Its id where it was made by id, and the name of its class where not."""
    if own := getattr(env, "own_name", ""):  # of one in another process
        return own
    spec = getattr(env, "spec", None)
    return type(env.unwrapped).__name__ if spec is None else str(spec.id)


class ActionScale:
    """From an agent's actions to an environment's: [-1, 1] to the bounds of a Box, ``0..n-1`` to a Discrete's own."""

    def __init__(self, space: gymnasium.spaces.Box | gymnasium.spaces.Discrete) -> None:
        self.space = space
        self.shape, self.dtype = space.shape or (), space.dtype
        if isinstance(space, gymnasium.spaces.Box):
            self.size = int(np.prod(space.shape))
            self.low, self.high = space.low.astype(np.float64), space.high.astype(np.float64)

    def __call__(self, actions: np.ndarray | Array, num_envs: int) -> np.ndarray:
        """New arrays, ``[n, *shape]`` or ``[n]``: what an environment writes into them stays there."""
        actions = np.asarray(actions)
        if isinstance(self.space, gymnasium.spaces.Discrete):
            return self._discrete(actions, num_envs)
        return self._box(actions, num_envs, self.space)

    def _box(self, actions: np.ndarray, num_envs: int, space: gymnasium.spaces.Box) -> np.ndarray:
        if actions.shape != (num_envs, self.size):
            raise ValueError(f"actions must have shape {(num_envs, self.size)}, got {actions.shape}")
        if not (np.abs(actions) <= 1 + 1e-6).all():  # so written, NaN fails too
            raise ValueError(f"actions must be within [-1, 1], got {actions.tolist()}; squash or clip them")
        share = ((actions.astype(np.float64) + 1) / 2).reshape(num_envs, *space.shape)
        scaled = (1 - share) * self.low + share * self.high
        return np.minimum(np.maximum(scaled, self.low), self.high).astype(space.dtype)

    def _discrete(self, actions: np.ndarray, num_envs: int) -> np.ndarray:
        assert isinstance(self.space, gymnasium.spaces.Discrete)
        if actions.shape != (num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be {num_envs} integers, got {actions.dtype} of shape {actions.shape}")
        if not ((actions >= 0) & (actions < self.space.n)).all():
            raise ValueError(f"actions must be from 0 to {self.space.n - 1}, got {actions.tolist()}")
        return actions.astype(np.int64) + int(self.space.start)


def _observations(space: object, name: str) -> gymnasium.spaces.Box:
    if not isinstance(space, gymnasium.spaces.Box):
        raise TypeError(f"{name}: observations are {_shown(space)}; {SUPPORTED}; {FLATTEN}")
    if space.shape == () or 0 in space.shape:
        raise TypeError(
            f"{name}: observations have the shape {space.shape}, no numbers in a row; {SUPPORTED}; {FLATTEN}"
        )
    return space


def _actions(space: object, name: str) -> gymnasium.spaces.Box | gymnasium.spaces.Discrete:
    if isinstance(space, gymnasium.spaces.Discrete):
        return space
    if not isinstance(space, gymnasium.spaces.Box):
        raise TypeError(f"{name}: actions are {_shown(space)}; {SUPPORTED}; {TRANSFORM}")
    if space.shape == () or 0 in space.shape:
        raise TypeError(f"{name}: actions have the shape {space.shape}, no numbers in a row; {SUPPORTED}; {TRANSFORM}")
    if not np.issubdtype(space.dtype, np.floating):
        raise TypeError(f"{name}: actions are a Box of {space.dtype}, not of real numbers; {SUPPORTED}; {TRANSFORM}")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise TypeError(
            f"{name}: actions are without bounds, {_shown(space)}; {SUPPORTED}; {TRANSFORM}"
            " (RescaleAction only where there are bounds)"
        )
    if not (space.low < space.high).all():
        raise TypeError(f"{name}: actions have no room between their bounds, {_shown(space)}; {SUPPORTED}; {TRANSFORM}")
    return space


def _flat(space: gymnasium.spaces.Box) -> Box:
    with np.errstate(over="ignore"):  # a bound beyond float32 is none
        low, high = (jnp.asarray(bound.astype(np.float32).reshape(-1)) for bound in (space.low, space.high))
    return Box(low, high)


def _shown(space: object) -> str:
    return "not stated" if space is None else f"{space}"
