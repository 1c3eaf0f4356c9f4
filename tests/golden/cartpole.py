"""Steps of the cart-pole by MuJoCo itself. Run as a script, with the ``peers`` extra, it writes ``cartpole.npz``."""

from pathlib import Path

import mujoco
import numpy as np

MODEL = """
<mujoco model="cart-pole swing-up with the physics of the DeepMind Control Suite">
  <option timestep="0.01" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0" range="-1.8 1.8" limited="true" solreflimit="0.08 1" damping="5e-4"/>
      <geom type="box" size="0.2 0.15 0.1" mass="1"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="2e-6"/>
        <geom type="capsule" fromto="0 0 0 0 0 1" size="0.045" mass="0.1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rail" gear="10" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>
"""


class Simulator:
    """MuJoCo, with a state as (x, angle, x', angle'). It solves for the rail's force to ``tolerance``."""

    def __init__(self, tolerance: float = 1e-8) -> None:
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.model.opt.tolerance = tolerance
        self.data = mujoco.MjData(self.model)

    def place(self, state: np.ndarray) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = state[:2], state[2:]

    def step(self, action: float) -> np.ndarray:
        self.data.ctrl[0] = action
        mujoco.mj_step(self.model, self.data)
        return np.concatenate([self.data.qpos, self.data.qvel])

    def steps(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """One step from each of the states."""
        reached = []
        for state, action in zip(states, actions, strict=True):
            self.place(state)
            reached.append(self.step(action))
        return np.array(reached)

    def path(self, start: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """One step after the other."""
        self.place(start)
        return np.array([self.step(action) for action in actions])


def random_states(rng: np.random.Generator, size: int) -> np.ndarray:
    """A half anywhere on the inner rail, a quarter around its ends, a quarter within millimetres of them and slow."""
    position = rng.uniform(-1.5, 1.5, size)
    position[: size // 2] = rng.choice([-1, 1], size // 2) * (1.8 + rng.normal(0, 0.02, size // 2))
    position[: size // 4] = rng.choice([-1, 1], size // 4) * (1.8 + rng.normal(0, 0.001, size // 4))
    velocity = rng.normal(0, 3, size)
    velocity[: size // 4] /= 10
    return np.column_stack([position, rng.uniform(-np.pi, np.pi, size), velocity, rng.normal(0, 6, size)])


def main() -> None:
    rng, simulator = np.random.default_rng(0), Simulator()
    states, actions = random_states(rng, 240), rng.uniform(-1.5, 1.5, 240)
    start, forces = np.array([0.01, np.pi - 0.01, 0.0, 0.02]), rng.uniform(-1, 1, 200)
    path = simulator.path(start, forces)
    assert np.abs(path[:, 0]).max() < 1.75, "the path is to stay off the rail's ends"
    np.savez_compressed(
        Path(__file__).with_suffix(".npz"),
        states=states,
        actions=actions,
        reached=simulator.steps(states, actions),
        path_start=start,
        path_actions=forces,
        path=path,
        mujoco=mujoco.__version__,
    )


if __name__ == "__main__":
    main()
