"""Interaction and truth: resets, time limits, the Boyan chain's known values."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.data.interact import collect
from bayesbellman.data.truth import finite_values
from bayesbellman.envs.finite import FiniteMDP, boyan_chain
from bayesbellman.nn.features import tabular_features, triangular_features


def only_action(key: jax.Array, observation: jax.Array) -> jax.Array:
    return jnp.zeros((), jnp.int32)


def corridor(terminal_last: bool, time_limit: int) -> FiniteMDP:
    """0 -> 1 -> 2 -> 2 -> ..., reward 1 a step."""
    transition = jnp.zeros((3, 1, 3)).at[0, 0, 1].set(1.0).at[1, 0, 2].set(1.0).at[2, 0, 2].set(1.0)
    terminal = jnp.array([False, False, terminal_last])
    return FiniteMDP(transition, jnp.ones((3, 1, 3)), jnp.array([1.0, 0.0, 0.0]), terminal, time_limit)


def test_termination_ends_the_bootstrap_and_restarts() -> None:
    transitions, restarts = collect(jax.random.key(0), corridor(True, 0), only_action, 5, 0.9)
    assert transitions.observation.tolist() == [0, 1, 0, 1, 0]
    assert transitions.next_observation.tolist() == [1, 2, 1, 2, 1]
    np.testing.assert_allclose(transitions.discount, [0.9, 0.0, 0.9, 0.0, 0.9], rtol=1e-6)
    assert restarts.tolist() == [True, False, True, False, True]


def test_a_time_limit_restarts_but_keeps_discount_and_true_successor() -> None:
    """Would fail if a time limit were treated as termination, or the successor taken after the reset."""
    transitions, restarts = collect(jax.random.key(0), corridor(False, 2), only_action, 4, 0.9)
    assert transitions.observation.tolist() == [0, 1, 0, 1]
    assert transitions.next_observation.tolist() == [1, 2, 1, 2]
    np.testing.assert_allclose(transitions.discount, [0.9] * 4, rtol=1e-6)
    assert restarts.tolist() == [True, False, True, False]


def test_termination_on_the_last_allowed_step_is_termination() -> None:
    transitions, _ = collect(jax.random.key(0), corridor(True, 2), only_action, 2, 0.9)
    np.testing.assert_allclose(transitions.discount, [0.9, 0.0], rtol=1e-6)


def test_boyan_episodes() -> None:
    """Twenty transitions each, from state 0, one or two states on with even odds (standard error 1.6 %, 5 allowed)."""
    transitions, restarts = collect(jax.random.key(0), boyan_chain(), only_action, 2000, 0.95)
    assert np.flatnonzero(restarts).tolist() == list(range(0, 2000, 20))
    assert (np.asarray(transitions.observation)[::20] == 0).all()
    s, s_next = np.asarray(transitions.observation), np.asarray(transitions.next_observation)
    early = s <= 11
    assert set((s_next - s)[early].tolist()) == {1, 2}
    assert abs(((s_next - s)[early] == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(early.sum())
    np.testing.assert_array_equal(np.asarray(transitions.reward), np.where(s == 13, 0, np.where(s == 12, -2, -3)))


def test_boyan_values_are_the_published_ones() -> None:
    published = [-21.47941, -20.14326, -18.76076, -17.33032, -15.85023, -14.31886, -12.73425]
    published += [-11.09493, -9.39824, -7.64372, -5.82625, -3.95, -2, 0]
    np.testing.assert_allclose(finite_values(boyan_chain(), np.ones((14, 1)), 0.95), published, atol=2e-5)


def test_values_stop_at_terminal_states() -> None:
    np.testing.assert_allclose(finite_values(corridor(True, 0), np.ones((3, 1)), 0.5)[:2], [1.5, 1.0])


def test_truth_is_the_fixed_point_of_bbo_with_full_features() -> None:
    """Tabular features, every transition weighted by its probability: linear BBO without a prior is the true value."""
    import bayesbellman as bb

    chain, states = boyan_chain(), np.arange(14)
    pairs = [(s, t) for s in states for t in states if chain.transition[s, 0, t] > 0]
    table = np.asarray(tabular_features(14), dtype=float)
    s, t = np.array(pairs).T
    weights = np.asarray(chain.transition[s, 0, t], dtype=float)
    model = bb.LinearBBO(prior_variance=float("inf"))
    model.fit(table[s], np.asarray(chain.reward[s, 0, t]), table[t], 0.95, weights)
    np.testing.assert_allclose(model.omega_, finite_values(chain, np.ones((14, 1)), 0.95), rtol=1e-9, atol=1e-9)


def test_triangular_features() -> None:
    features = np.asarray(triangular_features(14, 4))
    np.testing.assert_allclose(features[0], [1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(features[1], [10 / 13, 3 / 13, 0, 0], atol=1e-6)
    np.testing.assert_allclose(features[13], [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(features.sum(1), 1.0, rtol=1e-5)
