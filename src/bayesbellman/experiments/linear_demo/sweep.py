"""What the demonstration does: settings, and the run that records how the posterior closes on the truth."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from bayesbellman.data.interact import collect
from bayesbellman.data.truth import finite_values
from bayesbellman.doors.linear import LinearBBO
from bayesbellman.envs.finite import boyan_chain
from bayesbellman.nn.features import triangular_features
from bayesbellman.runs.progress import Report


@dataclass(frozen=True)
class DemoSettings:
    """The Boyan chain of the linear experiments (discount 0.95), with a prior as wide as its values (0 to -21)."""

    transitions: int = 2000
    seed: int = 0
    gamma: float = 0.95
    prior_variance: float = 400.0
    noise_variance: float = 1.0

    def __post_init__(self) -> None:
        if self.transitions < 1:
            raise ValueError(f"--transitions is {self.transitions}; accepted is a number >= 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"--seed is {self.seed}; accepted are integers from 0 to 2**63 - 1")


class DemoHistory(NamedTuple):
    """The estimate at every state after each checkpoint's number of transitions, beside the truth."""

    settings: DemoSettings
    truth: Float[np.ndarray, " S"]
    checkpoints: Int[np.ndarray, " K"]
    values: Float[np.ndarray, "K S"]
    operator_std: Float[np.ndarray, "K S"]
    value_std: Float[np.ndarray, "K S"]
    visits: Float[np.ndarray, " S"]
    """Share of the transitions that left each state: the weights of the RMSE."""

    @property
    def rmse(self) -> Float[np.ndarray, " K"]:
        return np.sqrt(((self.values - self.truth) ** 2) @ self.visits)


def run_demo(settings: DemoSettings, report: Report) -> DemoHistory:
    """Collect the data, then learn from one transition after another, answering at every checkpoint."""
    chain, features = boyan_chain(), np.asarray(triangular_features(14, 4), dtype=np.float64)
    truth = finite_values(chain, np.ones((14, 1)), settings.gamma)
    experience = jax.jit(collect, static_argnums=(2, 3))(
        jax.random.key(settings.seed), chain, _only_action, settings.transitions, settings.gamma
    ).transitions
    states, successors = np.asarray(experience.observation), np.asarray(experience.next_observation)
    rewards = np.asarray(experience.reward)

    model = LinearBBO(prior_variance=settings.prior_variance, noise_variance=settings.noise_variance)
    checkpoints = np.unique(np.geomspace(1, settings.transitions, 60).round().astype(int))
    records = []
    for i, (s_t, r_t, s_tp1) in enumerate(zip(states, rewards, successors, strict=True), start=1):
        model.partial_fit(features[s_t, None], r_t[None], features[s_tp1, None], settings.gamma)
        if i in checkpoints:
            values, operator_std = model.predict(features, return_std=True)
            value_std = model.predict(features, return_std="value")[1]
            records.append((values, operator_std, value_std))
            report(
                i,
                f"largest error {np.abs(values - truth).max():6.2f}, widest 95 % band +-{1.96 * value_std.max():6.2f}",
            )
    visits = np.bincount(states, minlength=14) / len(states)
    values, operator_std, value_std = map(np.array, zip(*records, strict=True))
    return DemoHistory(settings, truth, checkpoints, values, operator_std, value_std, visits)


def _only_action(key: jax.Array, observation: jax.Array) -> jax.Array:
    return jnp.zeros((), jnp.int32)
