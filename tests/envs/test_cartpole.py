"""The cart-pole beside recorded steps of MuJoCo, and its rewards by hand; `tests/peers` runs MuJoCo itself."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.cartpole import CartPole, CartPoleState

KEY = jax.random.key(0)
GOLDEN = Path(__file__).parents[1] / "golden" / "cartpole.npz"


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    with np.load(GOLDEN, allow_pickle=False) as file:
        return dict(file)


def vector(state: CartPoleState) -> jax.Array:
    return jnp.stack([state.position, state.angle, state.velocity, state.angular_velocity])


def each_stepped(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """One step from each of the states, in JAX's present precision."""
    env = CartPole()
    step = jax.vmap(lambda s, a: vector(env.step(KEY, env.at(*s), a[None]).state))
    return np.asarray(jax.jit(step)(jnp.asarray(states, float), jnp.asarray(actions, float)))


def stepped(env: CartPole, *start: float, action: float = 0.0):
    return env.step(KEY, env.at(*map(jnp.asarray, start)), jnp.asarray([action]))


def rewarded(env: CartPole, *start: float) -> float:
    return float(stepped(env, *start).reward)


def test_a_step_is_mujoco_s(x64: None, recorded: dict[str, np.ndarray]) -> None:
    found, theirs = each_stepped(recorded["states"], recorded["actions"]), recorded["reached"]
    at_an_end = np.abs(theirs[:, 0]) > 1.8
    assert at_an_end.sum() > 60
    assert (~at_an_end).sum() > 60
    np.testing.assert_array_less(np.abs(found - theirs), 1e-14 * np.maximum(1, np.abs(theirs)))


def test_a_step_in_float32_is_mujoco_s_to_rounding(recorded: dict[str, np.ndarray]) -> None:
    """Off the rail's ends: where the rail begins to push, a rounded position moves the push."""
    inside = np.abs(recorded["states"][:, 0]) < 1.6
    found = each_stepped(recorded["states"][inside], recorded["actions"][inside])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, recorded["reached"][inside], rtol=1e-5, atol=2e-6)


def test_a_path_is_mujoco_s(x64: None, recorded: dict[str, np.ndarray]) -> None:
    env = CartPole()

    def step(state: CartPoleState, action: jax.Array) -> tuple[CartPoleState, jax.Array]:
        reached = env.step(KEY, state, action[None]).state
        return reached, vector(reached)

    start = env.at(*jnp.asarray(recorded["path_start"]))
    _, path = jax.lax.scan(step, start, jnp.asarray(recorded["path_actions"]))
    np.testing.assert_allclose(path, recorded["path"], rtol=0, atol=1e-12)


def test_it_rests_hanging_and_standing(x64: None) -> None:
    for angle in (np.pi, 0.0):
        np.testing.assert_allclose(
            vector(stepped(CartPole(), 0.3, angle, 0.0, 0.0).state), [0.3, angle, 0, 0], atol=1e-15
        )


def test_the_force_is_clipped_and_its_cost_is_not(x64: None) -> None:
    strong, full = (stepped(CartPole(), 0.0, np.pi, 0.0, 0.0, action=a) for a in (-3.0, -1.0))
    np.testing.assert_array_equal(vector(strong.state), vector(full.state))
    assert float(full.state.velocity) < -0.08
    np.testing.assert_allclose([strong.reward, full.reward], [-0.3, -0.1])
    free = stepped(CartPole(reward="dm_control"), 0.0, np.pi, 0.0, 0.0, action=-3.0)
    assert float(free.reward) == 0.0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_paper_s_reward_has_four_conditions(x64: None, side: float) -> None:
    env = CartPole()
    near, far = side * np.arccos(0.951), side * np.arccos(0.949)
    assert rewarded(env, side * 0.099, 0.0, 0.0, 0.0) == 1.0
    assert rewarded(env, side * 0.1, 0.0, 0.0, 0.0) == 0.0
    assert (rewarded(env, 0.0, near, 0.0, 0.0), rewarded(env, 0.0, far, 0.0, 0.0)) == (1.0, 0.0)
    assert (rewarded(env, 0.0, 0.0, side * 0.99, 0.0), rewarded(env, 0.0, 0.0, side * 1.01, 0.0)) == (1.0, 0.0)
    assert (rewarded(env, 0.0, 0.0, 0.0, side * 0.99), rewarded(env, 0.0, 0.0, 0.0, side * 1.01)) == (1.0, 0.0)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_control_suite_s_reward_has_two(x64: None, side: float) -> None:
    env = CartPole(reward="dm_control")
    near, far = side * np.arccos(0.9955), side * np.arccos(0.9945)
    assert (rewarded(env, side * 0.25, 0.0, 0.0, 0.0), rewarded(env, side * 0.251, 0.0, 0.0, 0.0)) == (1.0, 0.0)
    assert (rewarded(env, 0.0, near, 0.0, 0.0), rewarded(env, 0.0, far, 0.0, 0.0)) == (1.0, 0.0)
    assert rewarded(env, 0.0, 0.0, side * 5.0, side * 5.0) == 1.0


def test_the_reward_is_of_the_state_reached() -> None:
    env = CartPole()
    assert (rewarded(env, 0.105, 0.0, -0.9, 0.0), rewarded(env, 0.095, 0.0, 0.9, 0.0)) == (1.0, 0.0)


def test_the_observation_has_the_angle_as_cosine_and_sine() -> None:
    env = CartPole()
    state = env.at(*map(jnp.asarray, (0.5, 2.0, -1.0, 3.0)))
    np.testing.assert_allclose(env.observe(state), [0.5, np.cos(2.0), np.sin(2.0), -1.0, 3.0], rtol=1e-6)


def test_starts_hang_with_the_noise_asked_for() -> None:
    """Over 4,000 starts a deviation of 0.01 has a standard error of 1.1e-4 and a mean one of 1.6e-4; within 5."""
    keys = jax.random.split(KEY, 4_000)
    starts = np.asarray(jax.vmap(lambda key: vector(CartPole().reset(key)))(keys))
    np.testing.assert_allclose(starts.mean(0), [0, np.pi, 0, 0], atol=5 * 1.6e-4)
    np.testing.assert_allclose(starts.std(0), 0.01, atol=5 * 1.1e-4)
    same = np.asarray(jax.vmap(lambda key: vector(CartPole(init_noise=0.0).reset(key)))(keys[:5]))
    np.testing.assert_array_equal(same, np.tile(np.array([0, np.pi, 0, 0], np.float32), (5, 1)))


def test_an_episode_is_cut_after_1000_steps_and_never_ends() -> None:
    env = CartPole()

    def step(state: CartPoleState, _: None) -> tuple[CartPoleState, tuple[jax.Array, jax.Array]]:
        outcome = env.step(KEY, state, jnp.ones(1))
        return outcome.state, (outcome.terminated, outcome.truncated)

    state, (terminated, truncated) = jax.lax.scan(step, env.reset(KEY), length=1_000)
    assert not terminated.any()
    assert np.flatnonzero(truncated).tolist() == [999]
    assert 1.8 < float(state.position) < 2.0  # pushed against the rail's end, which gives a little
