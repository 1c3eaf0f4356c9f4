"""The cart-pole beside MuJoCo: step by step, anywhere and at the ends of the rail, and over 200 steps."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from tests.golden.cartpole import Simulator, random_states

from bayesbellman.envs.cartpole import INVERSE_WEIGHT, CartPole, CartPoleState

KEY = jax.random.key(0)


def vector(state: CartPoleState) -> jax.Array:
    return jnp.stack([state.position, state.angle, state.velocity, state.angular_velocity])


@jax.jit
def each_stepped(states: jax.Array, actions: jax.Array) -> jax.Array:
    env = CartPole()
    return jax.vmap(lambda s, a: vector(env.step(KEY, env.at(*s), a[None]).state))(states, actions)


@jax.jit
def along(start: jax.Array, actions: jax.Array) -> jax.Array:
    env = CartPole()

    def step(state: CartPoleState, action: jax.Array) -> tuple[CartPoleState, jax.Array]:
        reached = env.step(KEY, state, action[None]).state
        return reached, vector(reached)

    return jax.lax.scan(step, env.at(*start), actions)[1]


def random_runs(rng: np.random.Generator, runs: int = 100) -> list[tuple[np.ndarray, np.ndarray]]:
    """Starts and 200 actions each: some hang at first, some are anywhere; some push for long and meet an end."""
    found = []
    for run in range(runs):
        hanging = np.array([0, np.pi, 0, 0]) + 0.01 * rng.normal(size=4)
        anywhere = np.array([rng.uniform(-1, 1), rng.uniform(-np.pi, np.pi), rng.normal(), 3 * rng.normal()])
        actions = rng.uniform(-1, 1, 200) if run % 4 < 2 else np.repeat(rng.uniform(-1, 1, 10), 20)
        found.append((anywhere if run % 2 else hanging, actions))
    return found


def test_the_rail_s_weight_is_mujoco_s() -> None:
    np.testing.assert_allclose(Simulator().model.dof_invweight0[0], INVERSE_WEIGHT, rtol=1e-14)


def test_a_step_is_mujoco_s(x64: None) -> None:
    """20,000 steps from random states, some with actions beyond their bounds; to a few units in the last place."""
    rng = np.random.default_rng(0)
    states, actions = random_states(rng, 20_000), rng.uniform(-1.5, 1.5, 20_000)
    theirs = Simulator().steps(states, actions)
    assert (np.abs(theirs[:, 0]) > 1.8).sum() > 4_000
    error = np.abs(np.asarray(each_stepped(jnp.asarray(states), jnp.asarray(actions))) - theirs)
    np.testing.assert_array_less(error, 4e-15 * np.maximum(1, np.abs(theirs)))


def test_200_steps_off_the_rail_s_ends_are_mujoco_s(x64: None) -> None:
    simulator, counted = Simulator(), 0
    for start, actions in random_runs(np.random.default_rng(1)):
        theirs = simulator.path(start, actions)
        if np.abs(theirs[:, 0]).max() < 1.8:
            counted += 1
            ours = along(jnp.asarray(start), jnp.asarray(actions))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    assert counted > 40


def test_steps_along_a_path_are_mujoco_s_as_far_as_it_solves(x64: None) -> None:
    """On the way MuJoCo's solver starts from the last force, and may stop early at the rail's ends.

    With its tolerance at 0 every step agrees to rounding; with the usual 1e-8, to some 1e-5.
    """
    for tolerance, bound in ((0.0, 4e-15), (1e-8, 1e-4)):
        simulator = Simulator(tolerance)
        touched = 0
        for start, actions in random_runs(np.random.default_rng(1)):
            theirs = simulator.path(start, actions)
            left = np.concatenate([start[None], theirs[:-1]])
            error = np.abs(np.asarray(each_stepped(jnp.asarray(left), jnp.asarray(actions))) - theirs)
            np.testing.assert_array_less(error, bound * np.maximum(1, np.abs(theirs)))
            touched += (np.abs(theirs[:, 0]) > 1.8).sum()
        assert touched > 500


def test_the_observation_is_the_control_suite_s(x64: None) -> None:
    """There it is read off the pole's rotation matrix: its zz and xz entries."""
    env, simulator = CartPole(), Simulator()
    for state in random_states(np.random.default_rng(2), 50):
        simulator.place(state)
        mujoco.mj_kinematics(simulator.model, simulator.data)
        rotation = simulator.data.body("pole").xmat.reshape(3, 3)
        theirs = [state[0], rotation[2, 2], rotation[0, 2], state[2], state[3]]
        np.testing.assert_allclose(env.observe(env.at(*jnp.asarray(state))), theirs, rtol=0, atol=1e-15)
