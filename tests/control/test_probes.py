"""Agents on environments whose values are known: each probe fails one part of an agent.

The time-limit probe fails an agent that takes a time limit for an end: its values would be near 3.6, not 10.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC
from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training
from bayesbellman.envs.probes import DISCRETE_PROBES, PROBES

DISCOUNT = 0.9
SHARED = {"hidden": (16,), "learning_rate": 1e-2, "discount": DISCOUNT, "target_smoothing": 0.05}
FAST = {**SHARED, "target_entropy": -4.0}
"""A target entropy that is not reached lets the temperature fall: soft values are then the values."""
AGENTS: dict[str, AbstractAgent] = {
    "BBAC": BBAC(ensemble_size=3, prior_scale=1.0, prior_weight=1e-6, exploration_entropy=0.0, **FAST),
    "BAC": BBAC(ensemble_size=3, prior_scale=1.0, prior_weight=1e-6, **{**FAST, "target_smoothing": 1.0}),
    "SAC": SAC(**FAST),
    "SAC*": SAC(num_critics=1, **FAST),
    "BootDQN": BootDQN(ensemble_size=3, prior_scale=1.0, **SHARED),
    "DQN": BootDQN(ensemble_size=1, prior="none", epsilon=0.1, **SHARED),
}
TELLING = ("delayed-reward", "observed-best-action", "time-limit")
"""Probes that fail what the others fail too; the others, which say more closely what is wrong, are slow tests"""


def case(name: str, probe: str):
    """Every day: values that propagate, of each kind of agent; actions that depend on what is observed, of each kind of
    actions; and time limits, which all agents' one loop tells from ends, of one."""
    daily = {"delayed-reward": ("BBAC", "SAC", "BootDQN"), "observed-best-action": ("SAC", "BootDQN")}
    quick = name in daily.get(probe, ("SAC",) if probe in TELLING else ())
    return pytest.param(name, probe, marks=() if quick else pytest.mark.slow)


CASES = [case(name, probe) for name in AGENTS for probe in PROBES]


@pytest.mark.parametrize(("name", "probe"), CASES)
def test_values_are_within_a_tenth_of_the_truth(name: str, probe: str) -> None:
    agent = AGENTS[name]
    env = (DISCRETE_PROBES if isinstance(agent, BootDQN) else PROBES)[probe]
    training = Training(agent, env, batch_size=32, buffer_size=2_000, warmup=200)
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        advance = jax.jit(training.advance, static_argnums=2)
        state, _ = advance(jax.jit(training.init)(jax.random.key(1)), jnp.asarray(200), False)
        for _ in range(2):
            state, _ = advance(state, jnp.asarray(900), True)
    observations = jnp.array({"delayed-reward": [[0.0], [1.0]], "observed-reward": [[-1.0], [1.0]]}.get(probe, [[0.0]]))
    if probe == "observed-best-action":
        observations = jnp.array([[-1.0], [1.0]])
    best = agent.act_best(state.agent, observations)
    values = np.asarray(agent.values(state.agent, observations, best))
    truth = np.asarray([env.value(observation, DISCOUNT) for observation in observations])
    tolerance = 0.1 * max(1.0, float(np.abs(truth).max()))
    assert np.abs(values.mean(axis=0) - truth).max() < tolerance
    assert np.abs(values - truth).max() < 2 * tolerance  # of every member
