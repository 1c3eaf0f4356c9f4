"""What `NeuralBBO` stands on: its data, the pure estimator of its settings, and the training of all members at once."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from bayesbellman.core.types import Transition
from bayesbellman.doors import checks
from bayesbellman.doors.transitions import check_chunk
from bayesbellman.evaluation.nonlinear_bbo import NonlinearState, TwoTimescaleBBO
from bayesbellman.evaluation.training import train
from bayesbellman.nn.mlp import MLP, relu
from bayesbellman.nn.priors import WithPrior
from bayesbellman.posterior.map_estimate import MAPEstimate


class Data(NamedTuple):
    """Checked transitions in float64, with a discount and a weight for each."""

    observations: Float[np.ndarray, "N d"]
    rewards: Float[np.ndarray, " N"]
    next_observations: Float[np.ndarray, "N d"]
    discounts: Float[np.ndarray, " N"]
    weights: Float[np.ndarray, " N"]

    def followed_by(self, more: "Data") -> "Data":
        return Data(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))

    def transitions(self, scaling: "Scaling") -> Transition:
        """In float32, for training, with inputs scaled."""
        rewards, discounts, weights = (
            jnp.asarray(part, dtype=jnp.float32) for part in (self.rewards, self.discounts, self.weights)
        )
        observations, following = jnp.asarray(scaling(self.observations)), jnp.asarray(scaling(self.next_observations))
        return Transition(observations, None, rewards, discounts, following, weights)


class Scaling(NamedTuple):
    """What is taken off each input, and what it is divided by."""

    shift: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return ((inputs - self.shift) / self.scale).astype(np.float32)


class Learnt(NamedTuple):
    """All that a fit leaves: the data so far, how inputs are scaled, the members' states, and how training went."""

    settings: Mapping[str, Any]
    """By name: the model's as it was begun, and those of how it was trained last"""
    data: Data
    scaling: Scaling
    states: NonlinearState
    steps: int
    losses: Float[np.ndarray, " steps"]

    @property
    def num_members(self) -> int:
        return len(jax.tree.leaves(self.states)[0])


@partial(jax.jit, static_argnums=(5, 6))
def train_members(
    keys: Key[Array, " L"],
    estimator: TwoTimescaleBBO,
    states: NonlinearState,
    data: Transition,
    rewards: Float[Array, "L N"],
    steps: int,
    batch_size: int | None,
) -> tuple[NonlinearState, Float[Array, " steps"]]:
    """All members side by side; their rewards are their own, the rest of the data they share."""

    def one(key: Array, state: NonlinearState, reward: Array) -> tuple[NonlinearState, Array]:
        own = Transition(data.observation, None, reward, data.discount, data.next_observation, data.weight)
        state, metrics = train(key, estimator, state, own, steps, batch_size)
        return state, metrics["loss"]

    states, losses = jax.vmap(one)(keys, states, rewards)
    return states, jnp.mean(losses, axis=0)


@jax.jit
def values(networks: WithPrior, inputs: Float[Array, "rows d"]) -> Float[Array, "L rows"]:
    """Each member's values at the rows."""
    return jax.vmap(lambda network: network(inputs))(networks)


_BUILT: dict[tuple, TwoTimescaleBBO] = {}


def build(
    num_inputs: int,
    hidden: tuple[int, ...],
    activation: str,
    rule: str,
    lower_steps: int,
    lower_rate: float,
    upper_rate: float,
    prior_weight: float,
    noise_variance: float,
) -> TwoTimescaleBBO:
    """The pure estimator of these settings, made once: a new optimiser would be a new program to compile."""
    settings = (num_inputs, hidden, activation, rule, lower_steps, lower_rate, upper_rate, prior_weight, noise_variance)
    if settings not in _BUILT:
        function = jnp.tanh if activation == "tanh" else relu
        member = MAPEstimate(
            network=partial(MLP.glorot, num_inputs=num_inputs, hidden=hidden, activation=function),
            optimiser=optax.adam(lower_rate),
            prior_weight=prior_weight,
            noise_variance=noise_variance,
        )
        slow = optax.adam(upper_rate)
        built = TwoTimescaleBBO(posterior=member, slow=None if rule == "direct" else slow, lower_steps=lower_steps)
        _BUILT[settings] = built
    return _BUILT[settings]


def side_by_side(name: str, given: Any) -> Any:
    """Observations as they are; a pair of observations and actions as one array."""
    if not isinstance(given, tuple):
        return given
    if len(given) != 2:
        raise ValueError(f"{name} is a tuple of {len(given)}; accepted are an array and a pair (observations, actions)")
    parts = [checks.real_array(name, part, ndim=(1, 2)) for part in given]
    parts = [part[:, None] if part.ndim == 1 else part for part in parts]
    if len(parts[0]) != len(parts[1]):
        raise ValueError(
            f"{name}: {len(parts[0])} observations but {len(parts[1])} actions; they must be the same number"
        )
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)


def checked_data(given: tuple, num_inputs: int | None, *, proper_policy: bool) -> Data:
    """``(observations, rewards, next_observations, discounts, weights)`` as a user hands them over."""
    inputs, next_inputs = side_by_side("observations", given[0]), side_by_side("next_observations", given[2])
    chunk = check_chunk((inputs, given[1], next_inputs, *given[3:]), num_inputs, proper_policy=proper_policy)
    rows = len(chunk.rewards)
    weights = np.ones(rows) if chunk.weights is None else chunk.weights
    discounts = np.broadcast_to(np.asarray(chunk.discounts, dtype=np.float64), (rows,))
    parts = (chunk.features, chunk.rewards, chunk.next_features, discounts, weights)
    data = Data(*(np.array(part, dtype=np.float64) for part in parts))
    if rows == 0:
        raise ValueError("there are no transitions; accepted is one or more")
    for name, array in data._asdict().items():
        if (found := checks.culprit(name, array, 0)) is not None:
            raise ValueError(found)
    checks.weights_not_all_zero(float(rows), float(data.weights.sum()))
    return data


def scaling_of(inputs: np.ndarray, wanted: bool) -> Scaling:
    """Mean and deviation of each column, by which inputs are scaled; or a scaling that changes nothing.

    A column that is constant but for float32's rounding, which inputs have later, is not scaled: what is left of it is
    rounding, and divided by its own size that would count as much as any other column.
    """
    if not wanted:
        return Scaling(np.zeros(inputs.shape[1]), np.ones(inputs.shape[1]))
    with np.errstate(over="ignore"):
        mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    if (beyond := np.flatnonzero(~np.isfinite(deviation))).size:
        raise ValueError(
            f"observations: column {beyond[0]} has numbers so large that its deviation is not finite; use other units"
        )
    constant = deviation <= np.finfo(np.float32).eps * np.abs(mean)
    return Scaling(mean, np.where(constant, 1.0, deviation))
