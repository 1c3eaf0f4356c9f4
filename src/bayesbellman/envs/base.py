"""What every environment promises."""

import abc
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bayesbellman.envs.spaces import Spaces

State = TypeVar("State")


class EnvStep(eqx.Module, Generic[State]):
    """What one step yields. ``terminated``: no value beyond this state. ``truncated``: a time limit, values go on."""

    state: State
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


def out_of_time(time: Int[Array, ""], limit: int | Int[Array, ""]) -> Bool[Array, ""]:
    """Whether the time limit cuts the episode here, which ends no values. 0: there is none."""
    return jnp.asarray(limit > 0) & (time >= limit)


class AbstractEnv(eqx.Module, Generic[State]):
    """Dynamics as pure functions. The fields are the settings; the methods carry the state."""

    @abc.abstractmethod
    def reset(self, key: Key[Array, ""]) -> State:
        """The start of an episode."""

    @abc.abstractmethod
    def observe(self, state: State) -> PyTree[Array]:
        """What the agent sees of a state."""

    @abc.abstractmethod
    def step(self, key: Key[Array, ""], state: State, action: Any) -> EnvStep[State]:
        """One step. The state returned is the true successor, also where the episode ends; nothing is reset."""


class AbstractControlEnv(AbstractEnv[State]):
    """One that an agent can act in: it says what it shows, and what can be done in it."""

    @property
    @abc.abstractmethod
    def spaces(self) -> Spaces:
        """Observations and actions, with float32 bounds."""


class AbstractNoiseDrivenEnv(AbstractEnv[State]):
    """All randomness enters as noise of one fixed kind, so that numbers drawn elsewhere can drive the dynamics too."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""]) -> Float[Array, "..."]:
        """Noise for one start or one step."""

    @abc.abstractmethod
    def begin(self, noise: Float[Array, "..."]) -> State:
        """`reset` with this noise."""

    @abc.abstractmethod
    def advance(self, noise: Float[Array, "..."], state: State, action: Any) -> EnvStep[State]:
        """`step` with this noise."""

    def reset(self, key: Key[Array, ""]) -> State:
        return self.begin(self.draw(key))

    def step(self, key: Key[Array, ""], state: State, action: Any) -> EnvStep[State]:
        return self.advance(self.draw(key), state, action)
