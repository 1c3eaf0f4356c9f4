"""What every agent promises to the loop that trains it."""

import abc
from typing import Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree, Shaped

from bayesbellman.core.limits import COUNT, FINITE, NOT_NEGATIVE, POSITIVE, PROBABILITY, SHARE, Limit, refuse_beyond
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.actors import TanhGaussian
from bayesbellman.nn.scaling import Scaling

State = TypeVar("State")
LIMITS: dict[str, Limit] = {
    "discount": PROBABILITY,
    "learning_rate": POSITIVE,
    "target_smoothing": SHARE,
    "prior_scale": NOT_NEGATIVE,
    "prior_weight": NOT_NEGATIVE,
    "target_noise": NOT_NEGATIVE,
    "exploration_noise": NOT_NEGATIVE,
    "exploration_entropy": FINITE,
    "target_entropy": FINITE,
    "epsilon": PROBABILITY,
    "bootstrap": SHARE,
    "ensemble_size": COUNT,
    "num_critics": COUNT,
    "target_period": COUNT,
}
"""Of settings, where an agent has them"""


class AbstractAgent(eqx.Module, Generic[State]):
    """Settings as fields, methods that take and return state.

    Continuous actions are vectors within [-1, 1]; discrete ones are integers, and have no axis of their own.
    """

    discount: eqx.AbstractVar[float | Float[Array, ""]]

    def __check_init__(self) -> None:
        refuse_beyond(LIMITS, self)
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
