"""What every policy evaluator promises."""

import abc
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from bayesbellman.core.types import AnyArray, Metrics, Transition

State = TypeVar("State")


class AbstractEstimator(eqx.Module, Generic[State]):
    """Learns ``Q_omega ~ Q^pi`` from transitions. The fields are the settings; the methods carry the state.

    In linear methods an observation is its feature vector ``v(s, a)`` (and ``next_observation`` is ``v'``), with no
    action.
    """

    @abc.abstractmethod
    def init(self, key: Key[Array, ""]) -> State:
        """The state before any data."""

    @abc.abstractmethod
    def update(self, key: Key[Array, ""], state: State, transition: Transition) -> tuple[State, Metrics]:
        """Take in one transition, or a batch of them: each class says which."""

    @abc.abstractmethod
    def begin_episode(self, state: State) -> State:
        """The state at the start of an episode: eligibility traces are dropped, what was learnt is kept."""

    def absorb(self, key: Key[Array, ""], state: State, transitions: Transition, restarts: Bool[Array, " N"]) -> State:
        """The state after transitions taken one by one in order, traces dropped where an episode begins.

        A class may override it with a faster way to the same state. One whose update takes a batch takes them as one.
        """

        def one(state: State, inputs: tuple[Array, Transition, Array]) -> tuple[State, None]:
            one_key, transition, restart = inputs
            begun = self.begin_episode(state)
            state = jax.tree.map(lambda fresh, kept: jnp.where(restart, fresh, kept), begun, state)
            return self.update(one_key, state, transition)[0], None

        keys = jax.random.split(key, restarts.shape[0])
        return jax.lax.scan(one, state, (keys, transitions, restarts))[0]

    @abc.abstractmethod
    def value(self, state: State, inputs: Any) -> Float[AnyArray, "*batch"]:
        """``Q_omega`` at a batch of inputs."""
