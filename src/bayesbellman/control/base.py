"""What every agent promises to the loop that trains it."""

import abc
from typing import Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree

from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.actors import TanhGaussian
from bayesbellman.nn.scaling import Scaling

State = TypeVar("State")


class AbstractAgent(eqx.Module, Generic[State]):
    """Settings as fields, methods that take and return state. Actions are within [-1, 1]."""

    discount: eqx.AbstractVar[float | Float[Array, ""]]

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], spaces: Spaces) -> State:
        """Before the first step."""

    @abc.abstractmethod
    def begin_episode(self, key: Key[Array, ""], state: State) -> PyTree[Array]:
        """What is decided once per episode."""

    @abc.abstractmethod
    def act(
        self, key: Key[Array, ""], state: State, context: PyTree[Array], observation: Float[Array, " d"]
    ) -> Float[Array, " A"]:
        """An action to learn from."""

    @abc.abstractmethod
    def behaviour(self, state: State) -> TanhGaussian:
        """The policy that has been learnt, of observations as `scaling` gives them."""

    @abc.abstractmethod
    def scaling(self, state: State) -> Scaling:
        """How observations are scaled before a network sees them."""

    def act_best(self, state: State, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch A"]:
        """The action believed best, without noise."""
        return self.behaviour(state).mean_action(self.scaling(state)(observation))

    @abc.abstractmethod
    def update(
        self, key: Key[Array, ""], state: State, batch: Transition, index: Int[Array, " batch"]
    ) -> tuple[State, Metrics]:
        """One update from a batch of replay. ``index`` tells its transitions apart."""

    @abc.abstractmethod
    def values(
        self, state: State, observation: Float[Array, "*batch d"], action: Float[Array, "*batch A"]
    ) -> Float[Array, "L ..."]:
        """Each member's value."""
