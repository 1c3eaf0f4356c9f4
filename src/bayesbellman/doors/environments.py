"""Whatever a user calls an environment, opened: one of ours, or Gymnasium's through the host loop."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.doors import checks
from bayesbellman.envs.base import AbstractControlEnv, AbstractEnv
from bayesbellman.envs.registry import is_ours, make_env, name_of
from bayesbellman.envs.spaces import Box, Discrete, Spaces

SHARED = ("MountainCarContinuous-v0", "MountainCar-v0", "CartPole-v1")
"""Names that are Gymnasium's too: several side by side are Gymnasium's"""
LONGEST_WAIT = 1e6
"""Seconds: operating systems cannot wait for much longer ones"""
ROUNDING = 1e-5
"""Share of the room between bounds by which an action may be beyond them"""


class HostSettings(NamedTuple):
    """What is done about an environment of Gymnasium's that misbehaves."""

    bad_values: str = "raise"
    on_env_error: str = "raise"
    env_restarts: int = 3
    env_timeout: float | None = None

    def check(self) -> None:
        if self.bad_values not in ("raise", "drop", "clip"):
            raise ValueError(f"bad_values is {self.bad_values!r}; accepted are 'raise', 'drop' and 'clip'")
        if self.on_env_error not in ("raise", "restart"):
            raise ValueError(f"on_env_error is {self.on_env_error!r}; accepted are 'raise' and 'restart'")
        if checks.whole_number("env_restarts", self.env_restarts) < 1:
            raise ValueError(f"env_restarts is {self.env_restarts}; it must be >= 1 (on_env_error='raise' for none)")
        wait = self.env_timeout
        if wait is not None and not 0 < checks.one_number("env_timeout", wait) <= LONGEST_WAIT:
            accepted = f"it must be > 0 and at most {LONGEST_WAIT:g} (seconds), or None for no limit"
            raise ValueError(f"env_timeout is {wait}; {accepted}")

    def refuse_for(self, name: str | None) -> None:
        """None of this is for a compiled environment: it cannot fail by itself."""
        for field, value in self._asdict().items():
            if value != self._field_defaults[field]:
                which = name or "this environment"
                raise ValueError(f"{field} is {value!r}; {which} is ours and compiled with the agent, leave it out")

    def arguments(self) -> dict[str, Any]:
        """As `make_host_env` takes them"""
        restarts = self.env_restarts if self.on_env_error == "restart" else 0
        timeout = None if self.env_timeout is None else float(self.env_timeout)
        return {"bad_values": self.bad_values, "restarts": restarts, "timeout": timeout}


class Opened:
    """An environment to train in: ``compiled``, or else ``host``."""

    def __init__(
        self,
        name: str | None,
        spaces: Spaces,
        env_id: str | None = None,
        compiled: AbstractControlEnv | None = None,
        host: Any = None,
        again: Callable[[], Any] | None = None,
        made_here: bool = False,
        observation_shape: tuple[int, ...] | None = None,
        action_shape: tuple[int, ...] | None = None,
        first_action: int = 0,
    ) -> None:
        self.name, self.spaces, self.compiled, self.host, self.again = name, spaces, compiled, host, again
        self.env_id, self.made_here = env_id, made_here
        self.observation_shape = observation_shape or (spaces.observation.size,)
        self.first_action = first_action
        space = spaces.action
        self.action_shape = (space.size,) if isinstance(space, Box) and action_shape is None else action_shape or ()

    @property
    def described(self) -> str:
        """The name; of one without, its settings if it is ours, and what Gymnasium's calls itself."""
        return self.name or (self.host.name if self.compiled is None else repr(self.compiled))

    def close(self) -> None:
        """Of Gymnasium's environments those that were made here; one that was passed is its owner's to close."""
        if self.host is not None and self.made_here:
            self.host.close()

    def to_env_units(self, unit: np.ndarray) -> np.ndarray:
        """Rows of actions within [-1, 1], or integers, as the environment takes them."""
        space = self.spaces.action
        if isinstance(space, Discrete):
            return unit.astype(np.int64) + self.first_action
        low, high = np.asarray(space.low), np.asarray(space.high)
        scaled = low + (unit + 1) / 2 * (high - low)
        return np.clip(scaled, low, high).astype(np.float32).reshape(len(unit), *self.action_shape)

    def to_unit(self, action: np.ndarray, rows: int) -> np.ndarray:
        """Actions in the environment's units as rows within [-1, 1]; discrete ones as integers."""
        space = self.spaces.action
        size = 1 if isinstance(space, Discrete) else space.size
        if action.size != rows * size:
            raise ValueError(f"action has shape {action.shape}; expected {rows} of shape {self.action_shape}")
        if isinstance(space, Discrete):
            first, last = self.first_action, self.first_action + space.number - 1
            if action.dtype.kind not in "iu" or action.min() < first or action.max() > last:
                raise ValueError(f"action is {action.tolist()}; expected whole numbers from {first} to {last}")
            return (action.reshape(rows) - first).astype(np.int32)
        low, high = np.asarray(space.low), np.asarray(space.high)
        given, slack = action.reshape(rows, -1).astype(np.float32), ROUNDING * (high - low)
        if not ((given >= low - slack) & (given <= high + slack)).all():  # nor is nan within
            raise ValueError(f"action is {action.tolist()}; expected numbers from {low.tolist()} to {high.tolist()}")
        return 2 * (given - low) / (high - low) - 1


def open_environment(
    env: Any, num_envs: int, seed: int, faults: HostSettings, actions: type[Box] | type[Discrete]
) -> Opened:
    """From a name, an environment of ours, a Gymnasium environment or a function that makes one.

    ``actions``: what the agent can choose.
    """
    opened = _opened(env, num_envs, seed, faults)
    space = opened.spaces.action
    if not isinstance(space, actions):
        opened.close()
        if actions is Box:
            raise TypeError(
                f"actions are {space}; this agent's are continuous (a Box), bb.BootDQN is for discrete ones"
            )
        raise TypeError(f"actions are {space}; this agent's are discrete; bb.BBAC has continuous ones (a Box)")
    return opened


def full_name(name: str) -> str:
    """With its version, where it is one of `SHARED` without: Gymnasium completes such names, to these."""
    return next((shared for shared in SHARED if name == shared.rpartition("-v")[0]), name)


def actions_of(name: str) -> type[Box] | type[Discrete]:
    """Which kind of actions the environment of this name has."""
    name = full_name(name)
    if is_ours(name):
        return type(make_env(name).spaces.action)
    from bayesbellman.compat.gymnasium.make import made_by_id
    from bayesbellman.compat.gymnasium.spaces import spaces_of

    with contextlib.closing(made_by_id(name)) as env:
        return type(spaces_of(env).action)


def _opened(env: Any, num_envs: int, seed: int, faults: HostSettings) -> Opened:
    env = full_name(env) if isinstance(env, str) else env
    if isinstance(env, str) and is_ours(env) and num_envs == 1:
        faults.refuse_for(env)
        return _ours(make_env(env), env)
    if isinstance(env, str) and is_ours(env) and env not in SHARED:
        raise ValueError(f"num_envs is {num_envs}; {env} is ours and trained one at a time, leave it out")
    if isinstance(env, AbstractControlEnv):
        if num_envs != 1:
            raise ValueError(f"num_envs is {num_envs}; environments of ours are trained one at a time, leave it out")
        known = name_of(env)
        faults.refuse_for(known)
        return _ours(env, known)
    if isinstance(env, AbstractEnv):
        raise TypeError(f"{type(env).__name__} says nothing of its spaces; agents need an AbstractControlEnv")
    return _gymnasium(env, num_envs, seed, faults)


def _ours(env: AbstractControlEnv, name: str | None) -> Opened:
    return Opened(name, env.spaces, env_id=name, compiled=env)


def _gymnasium(env: Any, num_envs: int, seed: int, faults: HostSettings) -> Opened:
    from bayesbellman.compat.gymnasium import make_host_env
    from bayesbellman.compat.gymnasium.spaces import raw_spaces
    from bayesbellman.compat.gymnasium.specs import id_of, maker_again, sufficient_id

    host = make_host_env(env, num_envs=num_envs, seed=seed, **faults.arguments())
    raw = raw_spaces(host.first)
    made_here = isinstance(env, str) or _makes(env)
    make = env if made_here else maker_again(host.first)
    again = partial(make_host_env, num_envs=1, seed=seed, **faults.arguments(), check=False)
    return Opened(
        env if isinstance(env, str) else _reopening(sufficient_id(host.first), num_envs, faults),
        host.spaces,
        env_id=id_of(host.first),
        host=host,
        again=None if make is None else partial(again, make),
        made_here=made_here,
        observation_shape=raw.observation.shape,
        action_shape=raw.action.shape,
        first_action=int(getattr(raw.action, "start", 0)),
    )


def _reopening(env_id: str | None, num_envs: int, faults: HostSettings) -> str | None:
    """The id as a name; None where it would be refused with these settings, being ours too."""
    if env_id is None or not is_ours(env_id):
        return env_id
    return env_id if env_id in SHARED and (num_envs > 1 or faults == HostSettings()) else None


def _makes(env: Any) -> bool:
    return isinstance(env, type) or (callable(env) and not hasattr(env, "step"))
