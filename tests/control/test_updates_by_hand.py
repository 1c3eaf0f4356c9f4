"""One update of each actor-critic, by hand: the loss of its critics, and every gradient.

Adam's memory of the gradient starts from 0 and takes up a tenth of it, so that after one update it is that tenth.
"""

from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.contracts.promises import assert_close, leaves

from bayesbellman.control.bbac import BBAC, two_of
from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.parts import Optimised, shown, tuned_temperature
from bayesbellman.control.sac import SAC
from bayesbellman.core.types import Transition
from bayesbellman.envs.spaces import Discrete, Spaces, box
from bayesbellman.nn.actors import TanhGaussian

KEY = jax.random.key(0)
SPACES = Spaces(box([-1.0, -1.0], [1.0, 1.0]), box([-3.0], [3.0]))  # observations are scaled to what they are
ROWS, LOG_TEMPERATURE, TARGET_ENTROPY = 6, -0.7, -1.0
RATE, SMOOTHING = 0.02, 0.4
"""Of learning, and of omega; no agent's defaults"""


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        yield


def batch() -> Transition:
    """The third is terminal; importance weights differ."""
    k1, k2, k3 = jax.random.split(jax.random.key(7), 3)
    return Transition(
        jax.random.normal(k1, (ROWS, 2)),
        jax.random.uniform(k2, (ROWS, 1), minval=-1.0),
        jnp.arange(ROWS, dtype=float),
        jnp.where(jnp.arange(ROWS) == 2, 0.0, 0.9),
        jax.random.normal(k3, (ROWS, 2)),
        jnp.linspace(0.5, 2.0, ROWS),
    )


def begun(agent: Any) -> Any:
    """With omega that is not psi, and a temperature that is not 1."""
    state = jax.jit(lambda key: agent.init(key, SPACES))(KEY)
    assert float(state.log_temperature.parameters) == 0.0
    assert_close(state.omega, (state.critics if isinstance(agent, SAC) else state.posterior).members.phi)
    moved = (jax.tree.map(lambda x: x + 0.1, state.omega), jnp.asarray(LOG_TEMPERATURE))
    return eqx.tree_at(lambda s: (s.omega, s.log_temperature.parameters), state, moved)


def one(tree: Any, number: int) -> Any:
    return jax.tree.map(lambda x: x[number], tree)


def a_tenth(gradient: Any) -> Any:
    return jax.tree.map(lambda x: 0.1 * x, gradient)


def assert_stepped(before: Any, after: Any, gradient: Any) -> None:
    """Adam's first step is the rate against the gradient's sign, however large that is if it is not tiny."""
    for old, new, slope in zip(*map(leaves, (before, after, gradient)), strict=True):
        steep = np.abs(slope) > 1e-4
        np.testing.assert_allclose((new - old)[steep], -RATE * np.sign(slope[steep]), rtol=1e-3)


def assert_followed(omega: Any, after: Any, psi: Any) -> None:
    """The slow step is towards psi as the update has left it."""
    assert_close(after, jax.tree.map(lambda o, p: o + SMOOTHING * (p - o), omega, psi))


def assert_temperature_follows(after: Optimised, log_prob: jax.Array) -> None:
    """``d/d log alpha`` of ``-log alpha mean(log pi + target)``: with too little entropy alpha must rise."""
    gradient = -(np.mean(log_prob) + TARGET_ENTROPY)
    np.testing.assert_allclose(after.memory[0].mu, 0.1 * gradient, rtol=1e-5)
    assert_stepped(jnp.asarray(LOG_TEMPERATURE), after.parameters, jnp.asarray(gradient))


@pytest.mark.parametrize("num_critics", [2, 1])
def test_sac(num_critics: int) -> None:
    """Targets: the least of omega's values and, less the temperature's share, the log-density; nothing at an end."""
    agent, data = SAC(num_critics=num_critics, hidden=(8,), learning_rate=RATE, target_smoothing=SMOOTHING), batch()
    state = begun(agent)
    assert agent.values(state, data.observation, data.action).shape == (num_critics, ROWS)
    after, metrics = jax.jit(lambda state: agent.update(KEY, state, data, jnp.arange(ROWS)))(state)
    next_key, _, actor_key = jax.random.split(KEY, 3)
    alpha, actor, critics = jnp.exp(LOG_TEMPERATURE), state.actor.parameters, range(num_critics)
    ahead = actor.sample(next_key, data.next_observation)
    following = [one(state.omega, c)((data.next_observation, ahead.action)) for c in critics]
    targets = data.reward + data.discount * (reduce(jnp.minimum, following) - alpha * ahead.log_prob)
    assert float(targets[2]) == 2.0

    def critic_loss(psi: Any) -> jax.Array:
        return 0.5 * jnp.mean(data.weight * (targets - psi((data.observation, data.action))) ** 2)

    members = [one(state.critics.members.phi, c) for c in critics]
    np.testing.assert_allclose(metrics["critic_loss"], np.mean([critic_loss(psi) for psi in members]), rtol=1e-5)
    for c in critics:
        gradient = jax.grad(critic_loss)(members[c])
        assert_close(one(after.critics.members.optimiser[0].mu, c), a_tenth(gradient))
        assert_stepped(members[c], one(after.critics.members.phi, c), gradient)

    def actor_loss(actor: TanhGaussian) -> jax.Array:
        drawn = actor.sample(actor_key, data.observation)
        values = [one(after.critics.members.phi, c)((data.observation, drawn.action)) for c in critics]
        return jnp.mean(alpha * drawn.log_prob - reduce(jnp.minimum, values))

    gradient = jax.grad(actor_loss)(actor)
    assert_close(after.actor.memory[0].mu, a_tenth(gradient))
    assert_stepped(actor, after.actor.parameters, gradient)
    assert_followed(state.omega, after.omega, after.critics.members.phi)
    log_prob = actor.sample(actor_key, data.observation).log_prob
    np.testing.assert_allclose(metrics["entropy"], -np.mean(log_prob), rtol=1e-5)
    assert_temperature_follows(after.log_temperature, log_prob)


def test_bbac() -> None:
    """With a prior that weighs something, target noise and masks: each member has its own of all three."""
    settings = {"prior_scale": 10.0, "prior_weight": 0.02, "target_noise": 0.3, "bootstrap": 0.5}
    agent = BBAC(ensemble_size=3, hidden=(8,), learning_rate=RATE, target_smoothing=SMOOTHING, **settings)
    state, data, index = begun(agent), batch(), jnp.arange(40, 40 + ROWS)
    after, metrics = jax.jit(lambda state: agent.update(KEY, state, data, index))(state)
    next_key, _, policy_key, pair_key = jax.random.split(KEY, 4)
    masks = shown(state.mask_key, 3, 0.5, index)
    assert 0 < float(masks.mean()) < 1
    policies, fits = state.policies.parameters, []

    def valued(psi: Any, member: int, observation: jax.Array, action: jax.Array) -> jax.Array:
        return psi((observation, action)) + 10.0 * one(state.posterior.priors, member)((observation, action))

    for member in range(3):
        ahead = one(policies, member).sample(jax.random.split(next_key, 4)[member], data.next_observation).action
        noise = [jax.random.normal(jax.random.fold_in(state.posterior.noise_keys[member], i)) for i in index]
        following = valued(one(state.omega, member), member, data.next_observation, ahead)
        targets = data.reward + data.discount * following + 0.3 * jnp.stack(noise) / jnp.sqrt(data.weight)

        def fit(psi: Any, member: int = member, targets: jax.Array = targets) -> jax.Array:
            errors = targets - valued(psi, member, data.observation, data.action)
            return 0.5 * jnp.mean(data.weight * masks[member] * errors**2)

        def loss(psi: Any, fit: Any = fit) -> jax.Array:
            penalty = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(psi))
            return fit(psi) + 0.5 * 0.02 * penalty  # half of the transitions, and half of the penalty

        psi = one(state.posterior.members.phi, member)
        fits.append(fit(psi))
        gradient = jax.grad(loss)(psi)
        assert_close(one(after.posterior.members.optimiser[0].mu, member), a_tenth(gradient))
        assert_stepped(psi, one(after.posterior.members.phi, member), gradient)
    np.testing.assert_allclose(metrics["critic_loss"], np.mean(fits), rtol=1e-5)
    assert_followed(state.omega, after.omega, after.posterior.members.phi)

    alpha, pair = jnp.exp(LOG_TEMPERATURE), two_of(pair_key, 3).tolist()
    for number, key in enumerate(jax.random.split(policy_key, 4)):

        def policy_loss(policy: TanhGaussian, number: int = number, key: jax.Array = key) -> jax.Array:
            drawn = policy.sample(key, data.observation)
            judges = [number] if number < 3 else pair
            critics = [(one(after.posterior.members.phi, m), m) for m in judges]
            values = [valued(psi, m, data.observation, drawn.action) for psi, m in critics]
            return jnp.mean(alpha * drawn.log_prob - reduce(jnp.minimum, values))

        gradient = jax.grad(policy_loss)(one(policies, number))
        assert_close(one(after.policies.memory[0].mu, number), a_tenth(gradient))
        assert_stepped(one(policies, number), one(after.policies.parameters, number), gradient)
    behaviour = one(policies, 3).sample(jax.random.split(policy_key, 4)[3], data.observation)
    np.testing.assert_allclose(metrics["entropy"], -np.mean(behaviour.log_prob), rtol=1e-5)
    assert_temperature_follows(after.log_temperature, behaviour.log_prob)


@pytest.mark.parametrize(("given", "target"), [(None, -3.0), (-0.25, -0.25)])
def test_a_temperature_has_its_target_and_takes_a_step_of_the_rate(given: float | None, target: float) -> None:
    """The target is minus the number of actions, or what is given; Adam's first step is the rate, whatever the slope.

    ``log pi`` is 1 on average: with a target of -3 the entropy is enough and the temperature falls, with -0.25 it
    rises.
    """
    after = tuned_temperature(Optimised.fresh(jnp.zeros(())), jnp.array([0.5, 1.5]), 3, given, 0.01)
    np.testing.assert_allclose(after.memory[0].mu, -0.1 * (1 + target), rtol=1e-6)
    np.testing.assert_allclose(after.parameters, 0.01 * np.sign(1 + target), rtol=1e-5)


AGENTS = {
    "BBAC": (BBAC, {"ensemble_size": 2}, SPACES.action),
    "SAC": (SAC, {}, SPACES.action),
    "BootDQN": (BootDQN, {"ensemble_size": 2}, Discrete(3)),
}


@pytest.mark.parametrize("name", AGENTS)
def test_networks_see_observations_and_successors_scaled(name: str) -> None:
    """With bounds of 4 and 0.5, all is as without scaling on observations that were divided by them."""
    make, settings, actions = AGENTS[name]
    agent, bounds, data = make(hidden=(4,), **settings), np.array([4.0, 0.5], np.float32), batch()
    if isinstance(actions, Discrete):
        data = eqx.tree_at(lambda d: d.action, data, jnp.arange(ROWS) % 3)
    wide = eqx.tree_at(lambda d: (d.observation, d.next_observation), data, replace_fn=lambda x: bounds * x)
    spaces = Spaces(box((-bounds).tolist(), bounds.tolist()), actions)
    state = jax.jit(lambda: agent.init(KEY, spaces))()
    unscaled = make(hidden=(4,), scale_observations=False, **settings)
    scaling = jax.jit(lambda: unscaled.init(KEY, spaces).scaling)()
    np.testing.assert_array_equal(scaling(wide.observation), wide.observation)
    plain = eqx.tree_at(lambda s: (s.scaling.low, s.scaling.high), state, (-jnp.ones(2), jnp.ones(2)))

    @jax.jit
    def all_of_it(state: Any, data: Transition) -> Any:
        acted = agent.act(KEY, state, jnp.asarray(0), data.observation[0])
        values = agent.values(state, data.observation, data.action)
        after, metrics = agent.update(KEY, state, data, jnp.arange(ROWS))
        return acted, values, metrics, after.omega

    assert_close(all_of_it(state, wide), all_of_it(plain, data))
