"""The probes' values are what they say: each solves its Bellman optimality equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.probes import (
    DISCRETE_PROBES,
    PROBES,
    AbstractProbe,
    BestAction,
    DiscreteProbe,
    ObservedBestAction,
)
from bayesbellman.envs.spaces import Discrete

KEY = jax.random.key(0)
ACTIONS = jnp.linspace(-1.0, 1.0, 9)[:, None]  # 0.5 and -0.5 are among them
EVERY = {**PROBES, **{f"discrete-{name}": probe for name, probe in DISCRETE_PROBES.items()}}
every_probe = pytest.mark.parametrize("probe", EVERY.values(), ids=EVERY)


@every_probe
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_value_is_the_best_there_is(probe: AbstractProbe | DiscreteProbe, discount: float, sign: float) -> None:
    """At each step of an episode: reward and, unless it terminates, the discounted value of the successor."""
    actions = jnp.arange(3) if isinstance(probe, DiscreteProbe) else ACTIONS
    state = probe.at(jnp.asarray(sign))
    for _ in range(probe.length or 8):
        outcomes = jax.vmap(lambda action, state=state: probe.step(KEY, state, action))(actions)
        successor = jax.tree.map(lambda leaf: leaf[0], outcomes.state)  # no action changes where it leads
        beyond = jnp.where(outcomes.terminated[0], 0.0, probe.value(probe.observe(successor), discount))
        found = probe.value(probe.observe(state), discount)
        np.testing.assert_allclose((outcomes.reward + discount * beyond).max(), found, rtol=1e-6)
        state = successor


def test_the_values_are_those_of_the_docstrings() -> None:
    def values(name: str, *observations: float) -> list[float]:
        return [round(float(PROBES[name].value(jnp.asarray([o]), 0.9)), 5) for o in observations]

    assert values("constant-reward", 0.0) == [1.0]
    assert values("observed-reward", -1.0, 1.0) == [-1.0, 1.0]
    assert values("delayed-reward", 0.0, 1.0) == [0.9, 1.0]
    assert values("best-action", 0.0) == [1.0]
    assert values("observed-best-action", -1.0, 1.0) == [1.0, 1.0]
    assert values("time-limit", 0.0) == [10.0]


def history(probe: AbstractProbe, steps: int) -> list[tuple[float, bool, bool]]:
    """Reward, terminated, truncated of each step."""
    state, found = probe.reset(KEY), []
    for _ in range(steps):
        outcome = probe.step(KEY, state, jnp.zeros(1))
        state = outcome.state
        found.append((float(outcome.reward), bool(outcome.terminated), bool(outcome.truncated)))
    return found


@pytest.mark.parametrize("name", ["constant-reward", "observed-reward", "best-action", "observed-best-action"])
def test_most_end_with_their_first_step(name: str) -> None:
    [(_, terminated, truncated)] = history(PROBES[name], 1)
    assert (terminated, truncated) == (True, False)


def test_the_others_later_or_never() -> None:
    assert history(PROBES["delayed-reward"], 2) == [(0.0, False, False), (1.0, True, False)]
    assert history(PROBES["time-limit"], 6) == [(1.0, False, False)] * 4 + [(1.0, False, True)] * 2


def test_both_signs_are_drawn_and_only_some_probes_show_them() -> None:
    keys = jax.random.split(KEY, 100)
    for name, probe in PROBES.items():
        seen = np.asarray(jax.vmap(lambda key, probe=probe: probe.observe(probe.reset(key)))(keys))
        assert set(seen[:, 0].tolist()) == ({-1.0, 1.0} if name.startswith("observed") else {0.0})


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_best_actions_are_those_of_the_docstrings(sign: float) -> None:
    grid = jnp.linspace(-1.0, 1.0, 201)[:, None]
    for probe, best in ((BestAction(), 0.5), (ObservedBestAction(), 0.5 * sign)):
        state = probe.at(jnp.asarray(sign))
        rewards = jax.vmap(lambda action, probe=probe, state=state: probe.earn(state, action))(grid)
        np.testing.assert_allclose(grid[jnp.argmax(rewards), 0], best, atol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_of_discrete_actions_one_is_best(sign: float) -> None:
    for name, best in (("best-action", 2), ("observed-best-action", 1 + int(sign))):
        probe = DISCRETE_PROBES[name]
        assert probe.spaces.action == Discrete(3)
        state = probe.at(jnp.asarray(sign))
        rewards = [float(probe.step(KEY, state, jnp.asarray(action)).reward) for action in range(3)]
        assert int(np.argmax(rewards)) == best
        assert sorted(rewards) == pytest.approx([0.0, 0.75, 1.0])


def test_a_policy_that_does_not_look_has_less() -> None:
    probe = ObservedBestAction()
    rewards = [[float(probe.earn(probe.at(jnp.asarray(s)), a)) for s in (-1.0, 1.0)] for a in ACTIONS]
    np.testing.assert_allclose(np.mean(rewards, axis=1).max(), 1 - 0.5**2)


def test_taking_the_cut_for_an_end_shows() -> None:
    """The fixed point of TD over one episode's steps, all of which look the same: 10, or 3.57 where the cut ends it."""
    rewards, terminated, truncated = np.array(history(PROBES["time-limit"], 5)).T
    right = rewards.mean() / (1 - 0.9 * np.mean(1 - terminated))
    wrong = rewards.mean() / (1 - 0.9 * np.mean(1 - np.maximum(terminated, truncated)))
    np.testing.assert_allclose([right, wrong], [10.0, 1 / (1 - 0.9 * 0.8)])
