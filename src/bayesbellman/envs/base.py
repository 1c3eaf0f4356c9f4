"""What every environment promises."""

import abc
from typing import Any, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, Key, PyTree

State = TypeVar("State")


class EnvStep(eqx.Module, Generic[State]):
    """What one step yields. ``terminated``: no value beyond this state. ``truncated``: a time limit, values go on."""

    state: State
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


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
