"""What every agent promises to the loop that trains it."""

import abc
import math
from collections.abc import Callable
from typing import Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree, Shaped

from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.actors import TanhGaussian
from bayesbellman.nn.scaling import Scaling

State = TypeVar("State")
LIMITS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "discount": ("a number from 0 to 1", lambda x: 0 <= x <= 1),
    "learning_rate": ("a finite number > 0", lambda x: 0 < x < math.inf),
    "target_smoothing": ("a number > 0 and <= 1", lambda x: 0 < x <= 1),
    "prior_scale": ("a finite number >= 0", lambda x: 0 <= x < math.inf),
    "prior_weight": ("a finite number >= 0", lambda x: 0 <= x < math.inf),
    "bootstrap": ("a probability > 0 and <= 1", lambda x: 0 < x <= 1),
    "ensemble_size": ("a number >= 1", lambda x: x >= 1),
    "num_critics": ("a number >= 1", lambda x: x >= 1),
    "target_period": ("a number >= 1", lambda x: x >= 1),
}
"""What settings may be, of those that an agent has. What differs from run to run in one program is not looked at."""


class AbstractAgent(eqx.Module, Generic[State]):
    """Settings as fields, methods that take and return state.

    Continuous actions are vectors within [-1, 1]; discrete ones are integers, and have no axis of their own.
    """

    discount: eqx.AbstractVar[float | Float[Array, ""]]

    def __check_init__(self) -> None:
        for name, (accepted, holds) in LIMITS.items():
            value = getattr(self, name, None)
            if isinstance(value, float | int) and not holds(value):
                raise ValueError(f"{name} is {value}; accepted is {accepted}")
        hidden = getattr(self, "hidden", (1,))
        if not hidden or min(hidden) < 1:
            raise ValueError(f"hidden is {hidden}; accepted are widths of one layer or more, each >= 1")

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], spaces: Spaces) -> State:
        """Before the first step."""

    @abc.abstractmethod
    def begin_episode(self, key: Key[Array, ""], state: State) -> PyTree[Array]:
        """What is decided once per episode."""

    @abc.abstractmethod
    def act(
        self, key: Key[Array, ""], state: State, context: PyTree[Array], observation: Float[Array, " d"]
    ) -> Shaped[Array, "*A"]:
        """An action to learn from."""

    @abc.abstractmethod
    def act_best(self, state: State, observation: Float[Array, "*batch d"]) -> Shaped[Array, "..."]:
        """The action believed best, without noise."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], state: State, observation: Float[Array, "*batch d"]) -> Shaped[Array, "..."]:
        """An action of the policy that has been learnt, with its noise."""

    @abc.abstractmethod
    def update(
        self, key: Key[Array, ""], state: State, batch: Transition, index: Int[Array, " batch"]
    ) -> tuple[State, Metrics]:
        """One update from a batch of replay. ``index`` tells its transitions apart."""

    @abc.abstractmethod
    def values(
        self, state: State, observation: Float[Array, "*batch d"], action: Shaped[Array, "..."]
    ) -> Float[Array, "L ..."]:
        """Each member's value."""


class AbstractActorCritic(AbstractAgent[State]):
    """One whose policy is a network of its own."""

    @abc.abstractmethod
    def behaviour(self, state: State) -> TanhGaussian:
        """The policy that has been learnt, of observations as `scaling` gives them."""

    @abc.abstractmethod
    def scaling(self, state: State) -> Scaling:
        """How observations are scaled before a network sees them."""

    def act_best(self, state: State, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch A"]:
        return self.behaviour(state).mean_action(self.scaling(state)(observation))

    def draw(
        self, key: Key[Array, ""], state: State, observation: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch A"]:
        return self.behaviour(state).sample(key, self.scaling(state)(observation)).action
