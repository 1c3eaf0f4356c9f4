"""BootDQN's update, by hand, and how it acts: a member for each episode, greedily, or at random."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.contracts.promises import assert_close, assert_same_bits, differs

from bayesbellman.control.boot_dqn import BootDQN, BootDQNState
from bayesbellman.control.parts import scaled, shown
from bayesbellman.control.train import Training
from bayesbellman.core.types import Transition
from bayesbellman.data.transition import transition_of
from bayesbellman.envs.base import EnvStep
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import MountainCarDiscrete
from bayesbellman.envs.spaces import Spaces, box
from bayesbellman.nn.action_values import ActionValues

KEY = jax.random.key(0)
CAR = MountainCarDiscrete()
GAMMA = 0.5
TINY = {"ensemble_size": 2, "hidden": (4,), "discount": GAMMA}


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        yield


def started(agent: BootDQN, spaces: Spaces = CAR.spaces) -> BootDQNState:
    return jax.jit(lambda key: agent.init(key, spaces))(KEY)


def constant(networks: ActionValues, values: list[list[float]]) -> ActionValues:
    """Networks that give each member's row of values everywhere."""
    zero = jax.tree.map(jnp.zeros_like, networks)
    return eqx.tree_at(lambda n: n.network.biases[-1], zero, jnp.asarray(values))


def by_hand(agent: BootDQN) -> BootDQNState:
    """Prior functions, psi and omega whose values are the same everywhere, and easily added up."""
    return jax.jit(lambda key: _by_hand(agent.init(key, CAR.spaces)))(KEY)


def _by_hand(state: BootDQNState) -> BootDQNState:
    parts = (
        constant(state.posterior.priors, [[2.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
        constant(state.posterior.members.phi, [[0.0, 50.0, 0.0], [1.0, 2.0, 3.0]]),
        constant(state.omega, [[1.0, 3.0, 5.0], [7.0, 8.0, 30.0]]),
    )
    return eqx.tree_at(lambda s: (s.posterior.priors, s.posterior.members.phi, s.omega), state, parts)


def four_ends() -> Transition:
    """Going on, terminated, truncated, and both; each with the reward 100."""

    def step(terminated: jax.Array, truncated: jax.Array) -> Transition:
        here = CAR.at(jnp.asarray(-0.5), jnp.zeros(()))
        outcome = EnvStep(here, jnp.asarray(100.0), terminated, truncated)
        return transition_of(CAR, here, jnp.asarray(2, jnp.int32), outcome, GAMMA)

    return jax.jit(jax.vmap(step))(jnp.array([False, True, False, True]), jnp.array([False, False, True, True]))


def targets_of(agent: BootDQN, state: BootDQNState) -> jax.Array:
    return jax.jit(lambda state: agent._targets(state, four_ends()))(state)


def test_greedy_targets_by_hand() -> None:
    """r + gamma (1 - terminated) max_a' (f_omega + 10 p): of member 0 it is 1 + 20, of member 1, 30 - 10 is."""
    agent = BootDQN(prior_scale=10.0, **TINY)
    targets = targets_of(agent, by_hand(agent))
    going_on = [100 + GAMMA * 21.0, 100 + GAMMA * 20.0]
    np.testing.assert_allclose(targets, [[each, 100.0, each, 100.0] for each in going_on])


def test_double_targets_by_hand() -> None:
    """psi chooses (50 is more than 20; 2 is more than 1 and than 3 - 10), omega values what it chose."""
    agent = BootDQN(prior_scale=10.0, double=True, **TINY)
    targets = targets_of(agent, by_hand(agent))
    going_on = [100 + GAMMA * 3.0, 100 + GAMMA * 8.0]
    np.testing.assert_allclose(targets, [[each, 100.0, each, 100.0] for each in going_on])


def test_without_prior_functions_the_networks_stand_alone() -> None:
    agent = BootDQN(prior="none", **TINY)
    state = started(agent)
    assert state.posterior.priors is None
    state = eqx.tree_at(lambda s: s.omega, state, constant(state.omega, [[1.0, 3.0, 5.0], [7.0, 8.0, 30.0]]))
    np.testing.assert_allclose(targets_of(agent, state)[:, 0], [100 + GAMMA * 5.0, 100 + GAMMA * 30.0])


def test_the_action_of_the_mean_and_each_members_own() -> None:
    """Values are (20, 50, 0) and (1, 2, -7): both are for 1. With (1, 2, 80) in place of 3 the mean is for 2."""
    agent = BootDQN(prior_scale=10.0, **TINY)
    state = by_hand(agent)
    observation, best = jnp.zeros(2), jax.jit(agent.act_best)
    assert int(best(state, observation)) == 1
    other = constant(state.omega, [[0.0, 50.0, 0.0], [1.0, 2.0, 80.0]])
    state = eqx.tree_at(lambda s: s.posterior.members.phi, state, other)
    assert int(best(state, observation)) == 2
    act = jax.jit(agent.act)
    assert [int(act(KEY, state, jnp.asarray(member), observation)) for member in (0, 1)] == [1, 2]
    drawn = np.asarray(jax.jit(agent.draw)(KEY, state, jnp.zeros((1_000, 2))))  # a member for each observation
    assert set(drawn.tolist()) == {1, 2}
    assert abs((drawn == 1).sum() - 500) < 5 * np.sqrt(1_000 / 4)
    np.testing.assert_allclose(agent.values(state, observation, jnp.asarray(2, jnp.int32)), [0.0, 70.0])
    split = constant(state.omega, [[10.0, 50.0, 0.0], [30.0, -20.0, 0.0]])  # values (30, 50, 0) and (30, -20, -10)
    state = eqx.tree_at(lambda s: s.posterior.members.phi, state, split)
    assert int(best(state, observation)) == 0  # not the one that a single member hopes most of


def test_an_update_by_hand() -> None:
    """Each member's gradient: weights, its mask, its noise on targets, its prior function and the pull of lambda; Adam
    remembers a tenth of it, and its first step is the learning rate against the gradient's sign."""
    settings = {
        "prior_scale": 10.0,
        "prior_weight": 0.02,
        "target_noise": 30.0,
        "bootstrap": 0.5,
        "learning_rate": 0.07,
    }
    agent = BootDQN(**settings, **TINY)
    state, index = started(agent), jnp.arange(40, 44)
    data = eqx.tree_at(lambda d: d.weight, four_ends(), jnp.array([0.5, 1.0, 2.0, 3.0]))
    after, _ = jax.jit(lambda state: agent.update(KEY, state, data, index))(state)
    masks = shown(state.mask_key, 2, 0.5, index)
    assert 0 < float(masks.mean()) < 1
    seen = scaled(data, state.scaling)
    inputs, noiseless = (seen.observation, seen.action), jax.jit(lambda state: agent._targets(state, seen))(state)
    for member in (0, 1):
        pick = lambda tree, m=member: jax.tree.map(lambda x: x[m], tree)  # noqa: E731
        noise = [jax.random.normal(jax.random.fold_in(state.posterior.noise_keys[member], i)) for i in index]
        targets = noiseless[member] + 30.0 * jnp.stack(noise) / jnp.sqrt(data.weight)
        prior = 10.0 * pick(state.posterior.priors)(inputs)

        def loss(psi: ActionValues, t: jax.Array = targets, p: jax.Array = prior, m: int = member) -> jax.Array:
            penalty = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(psi))
            fit = 0.5 * jnp.mean(data.weight * masks[m] * (t - psi(inputs) - p) ** 2)
            return fit + 0.5 * 0.02 * penalty  # half of the transitions, and half of the penalty

        psi = pick(state.posterior.members.phi)
        gradient = jax.jit(jax.grad(loss))(psi)
        memory = jax.tree.map(lambda g: 0.1 * g, gradient)
        assert_close(pick(after.posterior.members.optimiser[0].mu), memory)
        moved = jax.tree.map(lambda p, g: p - 0.07 * g / (jnp.abs(g) + 1e-8), psi, gradient)
        assert_close(pick(after.posterior.members.phi), moved)


def test_targets_are_copied_every_so_many_updates() -> None:
    agent = BootDQN(target_smoothing=1.0, target_period=3, **TINY)
    state = started(agent)
    update = jax.jit(lambda state: agent.update(KEY, state, four_ends(), jnp.arange(4))[0])
    for number in range(1, 8):
        before, state = state, update(state)
        assert differs(before.posterior.members.phi, state.posterior.members.phi)
        assert_same_bits(state.omega, state.posterior.members.phi if number % 3 == 0 else before.omega)
        assert_same_bits(before.posterior.priors, state.posterior.priors)
    assert int(state.updates) == 7


def test_random_actions_are_uniform_and_as_frequent_as_epsilon_says() -> None:
    """6,000 actions of three: the standard error of a share p is sqrt(p (1 - p) / 6,000), 0.006 for a third."""
    keys = jax.random.split(KEY, 6_000)
    observation = jnp.zeros(2)
    for epsilon, share in ((1.0, 1 / 3), (0.3, 0.7 + 0.1)):
        agent = BootDQN(epsilon=epsilon, prior_scale=10.0, **TINY)
        state = by_hand(agent)  # of which both members say 1
        act = jax.vmap(lambda key, a=agent, s=state: a.act(key, s, jnp.asarray(0), observation))
        acted, drawn = jax.jit(act)(keys), jax.jit(agent.draw)(KEY, state, jnp.zeros((6_000, 2)))
        expected = np.array([(1 - share) / 2, share, (1 - share) / 2])
        for actions in (acted, drawn):
            counts = np.bincount(np.asarray(actions), minlength=3) / 6_000
            assert (np.abs(counts - expected) <= 5 * np.sqrt(expected * (1 - expected) / 6_000)).all()


def test_a_member_is_drawn_for_each_episode_and_acts_to_its_end() -> None:
    """The standard error of a count of 4,000 draws among four is sqrt(4,000 * 3/16), 27."""
    agent = BootDQN(ensemble_size=4, hidden=(4,))
    training = Training(agent, DeepSea(3), batch_size=4, buffer_size=64, warmup=2)
    advance = jax.jit(training.advance, static_argnums=2)
    state, _ = advance(jax.jit(training.init)(KEY), jnp.asarray(2), False)
    own = jax.jit(lambda state: agent.act(KEY, state.agent, state.context, training.env.observe(state.env)))
    members = []
    for step in range(2, 42):
        said, member = int(own(state)), int(state.context)
        if int(state.episode_steps) and members:
            assert member == members[-1]
        members.append(member)
        state, _ = advance(state, jnp.asarray(1), True)
        assert int(np.asarray(state.replay.ring.action)[step]) == said
    assert set(members) == {0, 1, 2, 3}
    drawn = jax.jit(jax.vmap(lambda key: agent.begin_episode(key, state.agent)))(jax.random.split(KEY, 4_000))
    assert np.abs(np.bincount(np.asarray(drawn), minlength=4) - 1_000).max() < 5 * np.sqrt(4_000 * 3 / 16)


def test_a_member_learns_from_what_its_mask_shows_and_nothing_else() -> None:
    agent = BootDQN(bootstrap=0.5, **TINY)
    state = started(agent)
    masks = np.asarray(shown(state.mask_key, 2, 0.5, jnp.arange(200)))
    (only_second,) = np.nonzero((masks[0] == 0) & (masks[1] == 1))
    index = jnp.asarray(only_second[:4])
    after, _ = jax.jit(lambda state: agent.update(KEY, state, four_ends(), index))(state)
    first, second = (
        [jax.tree.map(lambda x, m=member: x[m], each.posterior.members.phi) for each in (state, after)]
        for member in (0, 1)
    )
    assert_same_bits(*first)
    assert differs(*second)


def test_masks_leave_the_prior_the_weight_that_it_has_beside_the_data() -> None:
    """Over what members are shown, a gradient with masks is on average half of the one without, penalty and all: of
    2,000 drawn masks its mean is within five of its standard errors."""
    half, whole = (BootDQN(bootstrap=p, prior_weight=5.0, prior_scale=3.0, **TINY) for p in (0.5, 1.0))
    state = started(half)

    def gradients(agent: BootDQN, index: jax.Array) -> ActionValues:
        return agent.update(KEY, state, four_ends(), index)[0].posterior.members.optimiser[0].mu

    drawn = jax.jit(jax.vmap(lambda index: gradients(half, index)))(jnp.arange(8_000).reshape(2_000, 4))
    (full, masked) = (jax.tree.leaves(tree) for tree in (gradients(whole, jnp.arange(4)), drawn))
    for each, found in zip(full, map(np.asarray, masked), strict=True):
        error = found.std(axis=0) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - 0.5 * np.asarray(each)) <= 5 * error + 1e-5 * np.abs(each).max())


@pytest.mark.parametrize("learn", [False, True])
def test_actions_are_stored_as_they_are_in_double_precision_too(learn: bool, x64: None) -> None:
    """Replay has room for actions of 32 bits; wider ones would be cut, of which JAX warns when it traces the step."""
    training = Training(BootDQN(epsilon=0.1, **TINY), DeepSea(3), batch_size=4, buffer_size=64, warmup=2)
    state = jax.eval_shape(training.init, KEY)
    after, _ = jax.eval_shape(lambda state: training.advance(state, 3, learn), state)
    assert after.replay.ring.action.dtype == jnp.int32
    assert after.replay.ring.reward.dtype == jnp.float64


def test_what_is_logged() -> None:
    """Half the squared error against targets of 110.5, 100, 110.5, 100 and 110, 100, 110, 100; and their mean."""
    agent = BootDQN(prior_scale=10.0, **TINY)
    _, metrics = jax.jit(lambda state: agent.update(KEY, state, four_ends(), jnp.arange(4)))(by_hand(agent))
    assert set(metrics) == {"critic_loss", "target"}
    values = np.array([[0.0], [3.0 - 10.0]])  # of action 2
    targets = np.array([[110.5, 100, 110.5, 100], [110, 100, 110, 100]])
    np.testing.assert_allclose(metrics["critic_loss"], np.mean((targets - values) ** 2) / 2, rtol=1e-6)
    np.testing.assert_allclose(metrics["target"], targets.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ensemble_size": 0}, "ensemble_size is 0"),
        ({"bootstrap": 0.0}, "bootstrap is 0"),
        ({"target_period": 0}, "target_period is 0"),
        ({"epsilon": float("nan")}, "epsilon is nan; accepted is a number from 0 to 1"),
        ({"epsilon": 2.0}, "epsilon is 2.0"),
        ({"target_noise": -1.0}, "target_noise is -1.0; accepted is a finite number >= 0"),
    ],
)
def test_bad_settings_are_named(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BootDQN(**settings)


def test_continuous_actions_are_for_another() -> None:
    with pytest.raises(TypeError, match="BBAC is for continuous ones"):
        BootDQN().init(KEY, Spaces(box([0.0], [1.0]), box([-1.0], [1.0])))
