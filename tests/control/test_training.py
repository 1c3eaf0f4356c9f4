"""The loop and the agents' updates: formulas by hand, and that pieces and copies of a run change nothing."""

import re
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.contracts.promises import assert_close, assert_same_bits, differs

from bayesbellman.control.actions import any_action, to_bounds
from bayesbellman.control.bbac import BBAC, two_of
from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.parts import shown
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import CHUNK, Training
from bayesbellman.core.types import Transition
from bayesbellman.data.replay import Replay
from bayesbellman.envs.cart_pole_balance import CartPoleBalance
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.spaces import Discrete, Spaces, box
from bayesbellman.nn.actors import TanhGaussian

KEY = jax.random.key(0)
SPACES = Spaces(box([-2.0, -1.0], [2.0, 1.0]), box([-3.0], [3.0]))
SMALL = {"hidden": (8,)}
AGENTS = {
    "BBAC": BBAC(ensemble_size=3, prior_scale=10.0, **SMALL),
    "BAC": BBAC(ensemble_size=2, target_smoothing=1.0, **SMALL),
    "masked": BBAC(ensemble_size=2, bootstrap=0.5, target_noise=0.3, **SMALL),
    "SAC": SAC(**SMALL),
    "SAC*": SAC(num_critics=1, **SMALL),
    "BootDQN": BootDQN(ensemble_size=3, bootstrap=0.5, target_noise=0.3, epsilon=0.1, **SMALL),
}


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        yield


def batch(rows: int = 6) -> Transition:
    k1, k2, k3 = jax.random.split(jax.random.key(7), 3)
    return Transition(
        jax.random.normal(k1, (rows, 2)),
        jax.random.uniform(k2, (rows, 1), minval=-1.0),
        jnp.arange(rows, dtype=float),
        jnp.where(jnp.arange(rows) == 2, 0.0, 0.9),
        jax.random.normal(k3, (rows, 2)),
        jnp.ones(rows),
    )


def started(agent):
    """Compiled as one: uncompiled, each small operation is a program of its own."""
    return jax.jit(lambda key: agent.init(key, SPACES))(KEY)


def updated(agent, state):
    return jax.jit(lambda state: agent.update(KEY, state, batch(), jnp.arange(6)))(state)


@cache
def programs(name: str):
    env = DeepSea(3) if name == "BootDQN" else MountainCar()
    training = Training(AGENTS[name], env, batch_size=8, buffer_size=64, warmup=20)
    return jax.jit(training.init), jax.jit(training.advance, static_argnums=2)


def run(name: str, pieces: list[int], seed: int = 0):
    init, advance = programs(name)
    state, trace = advance(init(jax.random.key(seed)), jnp.asarray(20), False)
    for piece in pieces:
        state, trace = advance(state, jnp.asarray(piece), True)
    return state, trace


@pytest.mark.parametrize("name", ["BBAC", pytest.param("masked", marks=pytest.mark.slow), "SAC", "BootDQN"])
def test_pieces_do_not_change_a_bit(name: str) -> None:
    whole, _ = run(name, [30])
    assert_same_bits(whole, run(name, [7, 1, 22])[0])
    assert int(whole.step) == 50
    assert differs(whole.agent, run(name, [30], seed=1)[0].agent)


@pytest.mark.slow  # tests/experiments/test_control.py has one of them for every day
def test_seeds_side_by_side_are_what_they_are_alone() -> None:
    training = Training(AGENTS["BBAC"], MountainCar(), batch_size=8, buffer_size=64, warmup=20)

    def both(key: jax.Array):
        state, _ = training.advance(training.init(key), jnp.asarray(20), False)
        return training.advance(state, jnp.asarray(5), True)[0].agent

    keys = jax.vmap(jax.random.key)(jnp.arange(3))
    together = jax.jit(jax.vmap(both))(keys)
    assert_close(jax.tree.map(lambda x: x[1], together), jax.jit(both)(keys[1]))


def test_float_settings_can_be_swept_in_one_program() -> None:
    def learnt(scale: jax.Array):
        agent = BBAC(ensemble_size=2, prior_scale=scale, **SMALL)
        state = agent.init(KEY, SPACES)
        return agent.update(KEY, state, batch(), jnp.arange(6))[0].posterior.members.phi

    together = jax.jit(jax.vmap(learnt))(jnp.array([1.0, 30.0]))
    assert_close(jax.tree.map(lambda x: x[1], together), jax.jit(learnt)(jnp.asarray(30.0)))


def test_targets_of_a_member_by_hand() -> None:
    """r + gamma (f_omega(s', a') + scale p(s', a')), a' of its own actor; nothing beyond a terminal transition."""
    agent = AGENTS["BBAC"]
    state = started(agent)
    moved = jax.tree.map(lambda x: x + 0.1, state.omega)  # so that omega is not psi
    state = eqx.tree_at(lambda s: s.omega, state, moved)
    data = batch()
    targets = agent._targets(jax.random.key(5), state, data)
    for member in range(3):
        pick = lambda tree, m=member: jax.tree.map(lambda x: x[m], tree)  # noqa: E731
        key = jax.random.split(jax.random.key(5), 4)[member]
        action = pick(state.policies.parameters).sample(key, data.next_observation).action
        inputs = (data.next_observation, action)
        value = pick(state.omega)(inputs) + 10.0 * pick(state.posterior.priors)(inputs)
        np.testing.assert_allclose(targets[member], data.reward + data.discount * value, rtol=1e-5)
    np.testing.assert_allclose(targets[:, 2], 2.0)  # its discount is 0


def test_masks_and_noise_go_together() -> None:
    agent = AGENTS["masked"]
    before = started(agent)
    after, metrics = updated(agent, before)
    assert np.isfinite(metrics["critic_loss"])
    assert differs(before.posterior.members.phi, after.posterior.members.phi)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.posterior.members.phi))


def test_an_update_moves_what_it_should() -> None:
    agent = AGENTS["BBAC"]
    before = started(agent)
    after, metrics = updated(agent, before)
    assert_same_bits(before.posterior.priors, after.posterior.priors)
    expected = jax.tree.map(lambda o, p: o + 5e-3 * (p - o), before.omega, after.posterior.members.phi)
    assert_close(after.omega, expected)
    for policy in range(4):  # three that explore, and the behaviour policy
        then, now = (jax.tree.map(lambda x: x[policy], one.policies.parameters) for one in (before, after))  # noqa: B023
        assert differs(then, now)
    assert differs(before.log_temperature.parameters, after.log_temperature.parameters)
    assert set(metrics) == {"critic_loss", "temperature", "entropy"}
    bac = AGENTS["BAC"]
    after, _ = updated(bac, started(bac))
    assert_close(after.omega, after.posterior.members.phi)


def test_the_prior_function_steers_the_exploration_actors() -> None:
    """With critics that are zero everywhere an actor still climbs its prior function, which is how it explores."""
    agent = BBAC(ensemble_size=2, exploration_entropy=0.0, **SMALL)
    state = started(agent)
    zero = eqx.tree_at(lambda s: s.posterior.members.phi, state, jax.tree.map(jnp.zeros_like, state.omega))

    def exploring_gradient(agent: BBAC):
        critics = agent._posterior(0).members(zero.posterior)

        def loss(policies: TanhGaussian) -> jax.Array:
            return agent._policy_loss(KEY, critics, critics, batch().observation, jnp.asarray(1.0), policies)[0]

        return jax.tree.map(lambda x: x[:-1], jax.jit(jax.grad(loss))(zero.policies.parameters))

    nothing = jax.tree.map(jnp.zeros_like, exploring_gradient(agent))
    assert differs(exploring_gradient(agent), nothing)
    silent = BBAC(ensemble_size=2, exploration_entropy=0.0, prior_scale=0.0, **SMALL)
    assert_close(exploring_gradient(silent), nothing)


def test_each_policy_follows_its_own_loss() -> None:
    """By hand: exploration actors their own critic, the behaviour policy the lesser of the pair, with its entropy."""
    agent = AGENTS["BBAC"]
    state = started(agent)
    critics = agent._posterior(0).members(state.posterior)
    pair = jax.tree.map(lambda x: x[jnp.array([2, 0])], critics)
    observation, temperature = batch().observation, jnp.asarray(0.7)
    loss, log_prob = agent._policy_loss(KEY, critics, pair, observation, temperature, state.policies.parameters)
    keys, total = jax.random.split(KEY, 4), 0.0
    for number in range(4):
        policy = jax.tree.map(lambda x, n=number: x[n], state.policies.parameters)
        drawn = policy.sample(keys[number], observation)
        values = jax.vmap(lambda critic: critic((observation, drawn.action)))(critics)  # noqa: B023
        value = values[number] if number < 3 else jnp.minimum(values[0], values[2])
        total += float(jnp.mean(temperature * drawn.log_prob - value))
    np.testing.assert_allclose(loss, total, rtol=1e-5)
    np.testing.assert_allclose(log_prob, drawn.log_prob, rtol=1e-5)


def test_each_episode_is_a_members_own_and_evaluation_the_behaviour_policys() -> None:
    """The standard error of a count of 3,000 draws among three is sqrt(3,000 * 2/9), 26."""
    agent = AGENTS["BBAC"]
    state = started(agent)
    drawn = jax.jit(jax.vmap(lambda key: agent.begin_episode(key, state)))(jax.random.split(KEY, 3_000))
    assert np.abs(np.bincount(np.asarray(drawn), minlength=3) - 1_000).max() < 5 * np.sqrt(3_000 * 2 / 9)
    observation = jnp.array([0.3, -0.2])
    seen = state.scaling(observation)
    policies = [jax.tree.map(lambda x, n=number: x[n], state.policies.parameters) for number in range(4)]
    for member in range(3):
        acted = agent.act(KEY, state, jnp.asarray(member), observation)
        np.testing.assert_allclose(acted, policies[member].sample(KEY, seen).action, rtol=1e-5)
    np.testing.assert_allclose(agent.act_best(state, observation), policies[3].mean_action(seen), rtol=1e-5)
    np.testing.assert_allclose(agent.draw(KEY, state, observation), policies[3].sample(KEY, seen).action, rtol=1e-5)
    silent = BBAC(ensemble_size=3, exploration_noise=0.0, **SMALL)
    acted = silent.act(KEY, state, jnp.asarray(1), observation)
    np.testing.assert_allclose(acted, policies[1].mean_action(seen), rtol=1e-5)


def test_values_are_those_of_psi_with_its_prior_function() -> None:
    agent = AGENTS["BBAC"]
    state = started(agent)
    state = eqx.tree_at(lambda s: s.omega, state, jax.tree.map(lambda x: x + 0.1, state.omega))
    data = batch()
    inputs = (state.scaling(data.observation), data.action)
    values = agent.values(state, data.observation, data.action)
    for member in range(3):
        psi, prior = (
            jax.tree.map(lambda x, m=member: x[m], tree)
            for tree in (state.posterior.members.phi, state.posterior.priors)
        )
        np.testing.assert_allclose(values[member], psi(inputs) + 10.0 * prior(inputs), rtol=1e-5, atol=1e-5)


def test_pairs_of_critics_are_different_and_all_alike() -> None:
    pairs = np.asarray(jax.vmap(lambda key: two_of(key, 4))(jax.random.split(KEY, 6_000)))
    assert (pairs[:, 0] != pairs[:, 1]).all()
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(pairs.T), 1)
    standard_error = np.sqrt(6_000 * (1 / 12) * (11 / 12))
    assert np.abs(counts[~np.eye(4, dtype=bool)] - 500).max() < 5 * standard_error
    assert two_of(KEY, 1).tolist() == [0]


def test_members_are_shown_what_their_mask_says() -> None:
    seen = np.asarray(shown(KEY, 2, 0.5, jnp.arange(4_000)))
    np.testing.assert_array_equal(seen, shown(KEY, 2, 0.5, jnp.arange(4_000)))  # once and for all
    assert abs(seen.mean() - 0.5) < 5 * np.sqrt(0.25 / 8_000)
    assert abs(np.corrcoef(seen)[0, 1]) < 5 / np.sqrt(4_000)
    np.testing.assert_array_equal(shown(KEY, 2, 1.0, jnp.arange(3)), np.ones((2, 3)))


def test_episodes_are_counted_and_reset() -> None:
    training = Training(AGENTS["SAC*"], MountainCar(time_limit=10), batch_size=8, buffer_size=64, warmup=30)
    state, trace = jax.jit(training.advance, static_argnums=2)(jax.jit(training.init)(KEY), jnp.asarray(35), False)
    assert int(trace.episodes) == 3
    assert np.isfinite(trace.returns[:3]).all()
    assert np.isnan(trace.returns[3:]).all()
    assert int(state.episode_steps) == 5
    stored = np.asarray(state.replay.ring.discount)[:35]
    np.testing.assert_allclose(stored, 0.99, rtol=1e-6)  # a time limit is not an end
    gap = np.asarray(state.replay.ring.next_observation)[9] - np.asarray(state.replay.ring.observation)[10]
    assert np.abs(gap).max() > 1e-4  # the true successor was kept, not the start that followed it
    rewards, actions = (np.asarray(x)[:35] for x in (state.replay.ring.reward, state.replay.ring.action))
    np.testing.assert_allclose(trace.returns[:3], rewards[:30].reshape(3, 10).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(state.episode_return, rewards[30:].sum(), rtol=1e-5)
    assert actions.min() < -0.8  # of 35 uniform ones
    assert actions.max() > 0.8


def test_evaluation_plays_whole_episodes() -> None:
    training = Training(AGENTS["SAC*"], MountainCar(time_limit=25), batch_size=8, buffer_size=64)
    state = jax.jit(training.init)(KEY)
    zero = eqx.tree_at(
        lambda s: s.agent.actor.parameters, state, jax.tree.map(jnp.zeros_like, state.agent.actor.parameters)
    )
    np.testing.assert_allclose(training.evaluate(KEY, zero, 3, 1000), 0.0)  # no force, no cost, no goal
    assert training.play(KEY, zero, 3, 1000, 0).lengths.tolist() == [25, 25, 25]
    assert training.play(KEY, zero, 3, 20, 0).lengths.tolist() == [20, 20, 20]  # the longest that was asked for
    assert float(training.disagreement(KEY, run("SAC", [3])[0])) >= 0


def test_what_is_played_ends_with_its_episode_and_the_rest_is_discounted() -> None:
    """Poles that are pushed one way fall after different numbers of steps, each of which earns 1."""
    env = CartPoleBalance(start=0.15)
    training = Training(BootDQN(ensemble_size=1, discount=0.9, **SMALL), env, batch_size=8, buffer_size=64)
    state = jax.jit(training.init)(KEY)
    parts = (state.agent.posterior.members.phi, state.agent.posterior.priors)
    state = eqx.tree_at(
        lambda s: (s.agent.posterior.members.phi, s.agent.posterior.priors),
        state,
        jax.tree.map(jnp.zeros_like, parts),
    )
    played = jax.jit(lambda key: training.play(key, state, 6, 100, 3))(KEY)
    lengths = np.asarray(played.lengths)
    assert 3 < lengths.min() < lengths.max() < 100
    np.testing.assert_array_equal(played.returns, lengths)
    np.testing.assert_array_equal(played.rewards, np.ones((6, 3)))
    np.testing.assert_allclose(played.rest, (1 - 0.9 ** (lengths - 3)) / (1 - 0.9), rtol=1e-5)
    assert (np.abs(played.observations[:, 0]) <= 0.15).all()
    assert differs(played.observations[:, 0], played.observations[:, 2])


def test_metrics_are_means_over_updates_and_disagreement_is_among_members() -> None:
    _, advance = programs("SAC")
    start, _ = run("SAC", [])
    first, one = advance(start, jnp.asarray(1), True)
    _, two = advance(first, jnp.asarray(1), True)
    state, both = advance(start, jnp.asarray(2), True)
    for name, mean in both.metrics.items():
        np.testing.assert_allclose(mean, (one.metrics[name] + two.metrics[name]) / 2, rtol=1e-5)
    assert float(one.metrics["critic_loss"]) != float(two.metrics["critic_loss"])
    training = Training(AGENTS["SAC"], MountainCar(), batch_size=8, buffer_size=64, warmup=20)
    seen = state.replay.sample(KEY, 8).transitions
    values = np.asarray(training.agent.values(state.agent, seen.observation, seen.action))
    np.testing.assert_allclose(training.disagreement(KEY, state), np.mean(np.abs(values[0] - values[1])) / 2, rtol=1e-4)


def test_actions_reach_the_environments_bounds() -> None:
    space = box([-2.0, 0.0], [2.0, 1.0])
    np.testing.assert_allclose(to_bounds(space, jnp.array([[-1.0, 1.0], [0.0, 0.0]])), [[-2.0, 1.0], [0.0, 0.5]])


def test_any_action_is_any_of_them() -> None:
    """6,000 draws: a share of a third has a standard error of 0.6 %, a mean of uniform numbers 0.75 %; 5 allowed."""
    keys = jax.random.split(KEY, 6_000)
    numbers = np.asarray(jax.vmap(lambda key: any_action(key, Discrete(3)))(keys))
    np.testing.assert_allclose(np.bincount(numbers, minlength=3) / 6_000, 1 / 3, atol=5 * 0.0061)
    vectors = np.asarray(jax.vmap(lambda key: any_action(key, box([-5.0, 0.0], [5.0, 9.0])))(keys))
    np.testing.assert_allclose(vectors.mean(axis=0), 0.0, atol=5 * 0.0075)
    assert -1 <= vectors.min() < -0.99
    assert 0.99 < vectors.max() <= 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 64, "buffer_size": 32}, "must hold at least one batch"),
        ({"warmup": 0}, "warmup is 0"),
    ],
)
def test_bad_sizes_are_named_before_anything_is_compiled(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Training(AGENTS["SAC"], MountainCar(), **changes)


def test_bad_agents_are_named() -> None:
    with pytest.raises(ValueError, match="ensemble_size is 0"):
        BBAC(ensemble_size=0)
    with pytest.raises(ValueError, match="num_critics is 0"):
        SAC(num_critics=0)
    with pytest.raises(ValueError, match="bootstrap is 0"):
        BBAC(bootstrap=0.0)
    bad = [("discount", 1.5), ("discount", -1.0), ("learning_rate", float("nan")), ("target_smoothing", 2.0)]
    bad += [("learning_rate", float("inf")), ("target_smoothing", 0.0)]
    for name, value in [*bad, ("hidden", ()), ("hidden", (8, 0))]:
        for agent in (BBAC, SAC, BootDQN):
            with pytest.raises(ValueError, match=re.escape(f"{name} is {value}; accepted")):
                agent(**{name: value})
    with pytest.raises(ValueError, match=r"prior_weight is -1\.0; accepted is a finite number >= 0"):
        BBAC(prior_weight=-1.0)
    with pytest.raises(TypeError, match="BootDQN is for discrete ones"):
        BBAC().init(KEY, Spaces(box([0.0], [1.0]), Discrete(3)))
    one = BBAC(ensemble_size=1, **SMALL)  # defined: no disagreement, one actor
    state, _ = updated(one, started(one))
    assert one.values(state, batch().observation, batch().action).shape == (1, 6)


def test_densities_of_squashed_gaussians_are_those_of_the_change_of_variables(x64: None) -> None:
    """And finite where the tanh is 1 to rounding."""
    actor = TanhGaussian.glorot(KEY, 2, 1, (8,))
    observation = jnp.array([0.3, -0.2])
    drawn = jax.vmap(lambda k: actor.sample(k, observation))(jax.random.split(KEY, 500))
    mean, log_std = (np.asarray(x, np.float64) for x in actor.moments(observation))
    u = np.arctanh(np.asarray(drawn.action, np.float64)[:, 0])
    normal = -0.5 * ((u - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(drawn.log_prob, normal - np.log1p(-(np.tanh(u) ** 2)), atol=1e-4)
    far = TanhGaussian(jax.tree.map(lambda x: 50 * x, actor.network))
    assert np.isfinite(np.asarray(far.sample(KEY, 10 * observation).log_prob)).all()


def test_perturbed_actions_have_a_share_of_the_noise_and_deviations_have_bounds(x64: None) -> None:
    actor = TanhGaussian.glorot(KEY, 2, 1, (8,))
    observation = jnp.array([0.3, -0.2])
    mean, log_std = actor.moments(observation)
    sampled, half = actor.sample(KEY, observation).action, actor.perturbed(KEY, observation, 0.5)
    np.testing.assert_allclose(jnp.arctanh(half) - mean, 0.5 * (jnp.arctanh(sampled) - mean), rtol=1e-5)
    assert float(jnp.abs(jnp.arctanh(half) - mean)[0]) > 0.01
    np.testing.assert_allclose(actor.mean_action(observation), jnp.tanh(mean), rtol=1e-6)
    assert -20 < float(log_std[0]) < 2
    bias = jnp.array([0.0, 50.0])
    loud, silent = (eqx.tree_at(lambda a: a.network.biases[-1], actor, sign * bias) for sign in (1, -1))
    assert [float(one.moments(observation)[1][0]) for one in (loud, silent)] == [2.0, -20.0]


def test_replay_is_a_ring() -> None:
    def transition(number: int) -> Transition:
        x = jnp.asarray(float(number))
        return Transition(x[None], x[None], x, x, x[None], x)

    replay = Replay.empty(4, transition(0))
    for number in range(6):
        replay = replay.add(transition(number))
    replay = replay.add(transition(99), valid=False)
    assert sorted(np.asarray(replay.ring.reward).tolist()) == [2, 3, 4, 5]
    drawn = replay.sample(KEY, 200)
    np.testing.assert_array_equal(drawn.transitions.reward, drawn.index)  # an index is a transition's own, for good
    assert set(np.asarray(drawn.index).tolist()) == {2, 3, 4, 5}
    half = Replay.empty(100, transition(0)).add(transition(7))
    assert set(np.asarray(half.sample(KEY, 50).transitions.reward).tolist()) == {7}
    with pytest.raises(ValueError, match="capacity is 0"):
        Replay.empty(0, transition(0))


@pytest.mark.parametrize("agent", ["SAC", "BootDQN"])
def test_replay_is_never_copied(agent: str) -> None:
    """A step writes one transition and reads a batch; a copy of all of it would be most of the time."""
    room = 10_007  # a size that nothing else has
    env = DeepSea(5) if agent == "BootDQN" else MountainCar()
    training = Training(AGENTS[agent], env, batch_size=4, buffer_size=room)
    state = jax.eval_shape(training.init, KEY)
    steps = jax.jit(lambda state, number: training.advance(state, number, True)[0], donate_argnums=0)
    program = steps.lower(state, jnp.asarray(3)).compile().as_text()
    assert f"[{room}" in program
    copies = [line for line in program.splitlines() if f"[{room}" in line and " copy(" in line]
    assert not copies


def test_more_steps_than_there_are_keys_for_are_refused() -> None:
    training = Training(SAC(hidden=(4,)), MountainCar(), batch_size=8, buffer_size=20, warmup=10)
    with pytest.raises(ValueError, match="num_steps is 1001; accepted is a number <= 1000"):
        jax.eval_shape(lambda key: training.advance(training.init(key), CHUNK + 1, False), jax.random.key(0))
