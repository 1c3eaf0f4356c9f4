"""What every posterior over Bellman operators promises."""

import abc
from typing import Any, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Key, PyTree

from bayesbellman.core.types import AnyArray, BellmanSamples, Metrics, Predictive

State = TypeVar("State")


class AbstractPosterior(eqx.Module, Generic[State]):
    """``p(phi | D_omega)`` or an approximation of it. The fields are the settings; the methods carry the state.

    A posterior sees `BellmanSamples` only: what made them, and for which omega, is not its business. Since they
    depend on omega, a posterior belongs to the omega its samples were made with.
    """

    @abc.abstractmethod
    def init(self, key: Key[Array, ""]) -> State:
        """The state before any data: the prior."""

    @abc.abstractmethod
    def update(self, key: Key[Array, ""], state: State, samples: BellmanSamples) -> tuple[State, Metrics]:
        """Take in a batch of samples."""

    @abc.abstractmethod
    def sample(self, key: Key[Array, ""], state: State) -> PyTree[AnyArray]:
        """Draw the parameters phi of one Bellman operator."""

    @abc.abstractmethod
    def predict(self, state: State, inputs: Any) -> Predictive:
        """``p(b | s, a, D_omega)`` at a batch of inputs; its mean is the Bayesian Bellman operator ``B*``."""
