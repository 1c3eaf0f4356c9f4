"""Every environment keeps these promises. To join: one row in CASES."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.contracts import promises

from bayesbellman.envs.acrobot import AcrobotSparse
from bayesbellman.envs.base import AbstractControlEnv, AbstractEnv
from bayesbellman.envs.cart_pole_balance import CartPoleBalance
from bayesbellman.envs.cart_pole_swing_up import CartPoleSwingUp
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.finite import FiniteMDP, boyan_chain
from bayesbellman.envs.linear_quadratic import LinearQuadratic, balanced_cart_pole, linked_pole
from bayesbellman.envs.mountain_car import MountainCar, MountainCarDiscrete
from bayesbellman.envs.pendulum import PendulumSparse
from bayesbellman.envs.probes import (
    BestAction,
    ConstantReward,
    DelayedReward,
    DiscreteProbe,
    ObservedBestAction,
    ObservedReward,
    TimeLimit,
)
from bayesbellman.envs.puddle_world import PuddleWorld
from bayesbellman.envs.spaces import Box


class Case(NamedTuple):
    name: str
    make: Callable[[float], AbstractEnv]
    """An environment with one float setting at the given value."""
    action: Callable[[jax.Array], Any]
    """A random action."""


def scaled_rewards(env: FiniteMDP, scale: float) -> FiniteMDP:
    return eqx.tree_at(lambda e: e.reward, env, scale * env.reward)


def limited(env: LinearQuadratic) -> LinearQuadratic:
    """The same with a limit of eight steps."""
    parts = (env.dynamics, env.control, env.state_reward, env.action_reward, env.noise, env.start)
    return LinearQuadratic(*parts, time_limit=8)


def force(key: jax.Array) -> jax.Array:
    """One number, at times beyond [-1, 1]."""
    return jax.random.uniform(key, (1,), minval=-2.0, maxval=2.0)


def one_of(number: int) -> Callable[[jax.Array], jax.Array]:
    """A random one of so many actions."""
    return lambda key: jax.random.randint(key, (), 0, number)


def random_mdp() -> FiniteMDP:
    """Five states, two actions, the last state terminal, a limit of eight steps."""
    k1, k2 = jax.random.split(jax.random.key(3))
    transition = jax.random.uniform(k1, (5, 2, 5), minval=0.1)
    return FiniteMDP(
        transition=transition / transition.sum(-1, keepdims=True),
        reward=jax.random.normal(k2, (5, 2, 5)),
        initial=jnp.full(5, 0.2),
        terminal=jnp.arange(5) == 4,
        time_limit=8,
    )


CASES = [
    Case("acrobot", lambda x: AcrobotSparse(start=0.1 * x, time_limit=8), force),
    Case("boyan-chain", lambda x: scaled_rewards(boyan_chain(), x), lambda key: jnp.zeros((), jnp.int32)),
    Case(
        "cart-pole",
        lambda x: eqx.tree_at(lambda e: e.noise, limited(balanced_cart_pole()), x * balanced_cart_pole().noise),
        lambda key: jax.random.normal(key, (1,)),
    ),
    Case("cart-pole-balance", lambda x: CartPoleBalance(force=10.0 * x, time_limit=8), one_of(2)),
    Case("cart-pole-swing-up", lambda x: CartPole(force=10.0 * x, time_limit=8), force),
    Case(
        "cart-pole-swing-up-dm-control",
        lambda x: CartPole(init_noise=0.01 * x, reward="dm_control", time_limit=8),
        force,
    ),
    Case("cart-pole-swing-up-bsuite", lambda x: CartPoleSwingUp(move_cost=0.1 * x, time_limit=8), one_of(3)),
    Case("deep-sea", lambda x: DeepSea(4, move_cost=0.01 * x, time_limit=8), one_of(2)),
    Case("deep-sea-stochastic", lambda x: DeepSea(4, stochastic=True, move_cost=0.01 * x, time_limit=8), one_of(2)),
    Case(
        "linked-pole",
        lambda x: eqx.tree_at(lambda e: e.noise, limited(linked_pole(3)), x * linked_pole(3).noise),
        lambda key: jax.random.normal(key, (3,)),
    ),
    Case("mountain-car", lambda x: MountainCar(power=0.0015 * x, time_limit=8), force),
    Case("mountain-car-discrete", lambda x: MountainCarDiscrete(power=0.001 * x, time_limit=8), one_of(3)),
    Case("pendulum", lambda x: PendulumSparse(init_noise=0.01 * x, time_limit=8), force),
    Case("probe-best-action", lambda x: BestAction(0.5 * x, time_limit=8), force),
    Case("probe-constant-reward", lambda x: ConstantReward(x, time_limit=8), force),
    Case("probe-delayed-reward", lambda x: DelayedReward(x, time_limit=8), force),
    Case("probe-discrete", lambda x: DiscreteProbe(ObservedBestAction(0.5 * x, time_limit=8)), one_of(3)),
    Case("probe-observed-best-action", lambda x: ObservedBestAction(0.5 * x, time_limit=8), force),
    Case("probe-observed-reward", lambda x: ObservedReward(x, time_limit=8), force),
    Case("probe-time-limit", lambda x: TimeLimit(x, time_limit=8), force),
    Case("puddle-world", lambda x: PuddleWorld(noise=0.01 * x, time_limit=8), one_of(4)),
    Case("random-mdp", lambda x: scaled_rewards(random_mdp(), x), one_of(2)),
]
every_environment = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
ACTED_IN = [case for case in CASES if isinstance(case.make(1.0), AbstractControlEnv)]
KEY = jax.random.key(0)


@partial(jax.jit, static_argnums=0)
def steps_on(case: Case, env: AbstractEnv, state: Any, key: jax.Array) -> Any:
    """Thirty steps, past any end: dynamics never reset. One program for all tests of an environment."""

    def step(state: Any, step_key: jax.Array) -> tuple[Any, Any]:
        act_key, env_key = jax.random.split(step_key)
        outcome = env.step(env_key, state, case.action(act_key))
        return outcome.state, (outcome, env.observe(outcome.state))

    return jax.lax.scan(step, state, jax.random.split(key, 30))


@jax.jit
def started(env: AbstractEnv, key: jax.Array) -> Any:
    return env.reset(key)


def episode(case: Case, env: AbstractEnv, key: jax.Array) -> Any:
    return steps_on(case, env, started(env, key), key)


@every_environment
def test_jit_equals_eager(case: Case) -> None:
    env = case.make(1.0)
    state = env.reset(KEY)
    promises.jit_equals_eager(env.reset, KEY)
    promises.jit_equals_eager(env.observe, state)
    promises.jit_equals_eager(env.step, KEY, state, case.action(KEY))


@every_environment
def test_vmap_equals_loop(case: Case) -> None:
    env = case.make(1.0)
    promises.vmap_equals_loop(lambda key: episode(case, env, key), jax.random.split(KEY, 3))


@every_environment
def test_one_seed_repeats_and_two_differ(case: Case) -> None:
    env = case.make(1.0)
    promises.same_seed_repeats(lambda key: episode(case, env, key))
    promises.two_seeds_differ(lambda key: episode(case, env, key))


@every_environment
def test_changed_float_does_not_recompile(case: Case) -> None:
    promises.changed_float_does_not_recompile(lambda env: episode(case, env, KEY), case.make)


@every_environment
def test_state_can_be_scanned(case: Case) -> None:
    env = case.make(1.0)
    promises.state_can_be_scanned(lambda s: env.step(KEY, s, case.action(KEY)).state, env.reset(KEY))


@every_environment
def test_never_resets_itself(case: Case) -> None:
    """The time of an episode only goes up, also past its time limit, and truncation stays on."""
    env = case.make(1.0)
    _, (outcomes, _) = episode(case, env, KEY)
    assert outcomes.state.time.tolist() == list(range(1, 31))
    limit = env.time_limit
    assert outcomes.truncated.tolist() == [time >= limit for time in range(1, 31)]


@pytest.mark.parametrize("case", ACTED_IN, ids=[case.name for case in ACTED_IN])
def test_spaces_say_what_is_seen_and_done(case: Case) -> None:
    """Of environments for agents: observations lie within their space until an episode terminates, its last one
    included; actions have the shape theirs says."""
    env = case.make(1.0)
    assert isinstance(env, AbstractControlEnv)
    space, action = env.spaces.observation, env.spaces.action
    state = env.reset(KEY)
    seen, ended = [np.asarray(env.observe(state))[None]], [np.zeros(2, bool)]
    for key in jax.random.split(KEY, 17):
        state, (outcomes, more) = steps_on(case, env, state, key)
        seen.append(np.asarray(more))
        ended.append(np.asarray(outcomes.terminated))
    seen, over = np.concatenate(seen), np.cumsum(np.concatenate(ended)[:-1]) > 0  # after the last of an episode
    assert seen.shape == (511, space.size)
    assert (((seen >= np.asarray(space.low)) & (seen <= np.asarray(space.high))).all(axis=1) | over).all()
    assert case.action(KEY).shape == ((action.size,) if isinstance(action, Box) else ())
