"""Steps of bsuite's own environments. Run as a script, with the ``bsuite`` extra, it writes ``bsuite_steps.json``."""

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from bsuite.environments.cartpole import CartpoleState
from bsuite.environments.deep_sea import DeepSea
from bsuite.experiments.cartpole_swingup import sweep
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup


class Told:
    """A generator for Deep Sea whose numbers are told before each step, so that others can be told the same."""

    def __init__(self) -> None:
        self.uniform = self.normal = 0.0

    def rand(self) -> float:
        return self.uniform

    def randn(self) -> float:
        return self.normal


def deep_sea(size: int, mapping_seed: int | None, stochastic: bool = False) -> DeepSea:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where the actions are not mixed
        env = DeepSea(size, not stochastic, randomize_actions=mapping_seed is not None, mapping_seed=mapping_seed)
    env._rng = Told()
    return env


def dive(env: DeepSea, actions: np.ndarray, noise: np.ndarray) -> dict[str, Any]:
    """An episode: of each step the cell seen after it (none: -1), the reward and whether it was the last."""
    env.reset()
    before = env.bsuite_info()["total_bad_episodes"]
    cells, rewards, ends = [], [], []
    for action, (uniform, normal) in zip(actions, noise, strict=True):
        env._rng.uniform, env._rng.normal = uniform, normal
        timestep = env.step(int(action))
        seen = timestep.observation.ravel()
        assert set(seen.tolist()) <= {0.0, 1.0}
        assert seen.sum() == (not timestep.last())
        cells.append(-1 if timestep.last() else int(seen.argmax()))
        rewards.append(float(timestep.reward))
        ends.append(timestep.last())
    return {
        "actions": [int(action) for action in actions],
        "noise": noise.tolist(),
        "cells": cells,
        "rewards": rewards,
        "ends": ends,
        "bad": env.bsuite_info()["total_bad_episodes"] > before,
    }


def straight(env: DeepSea) -> np.ndarray:
    """Actions that go right along the diagonal."""
    return np.diag(env._action_mapping).astype(int)


def dives(env: DeepSea, rng: np.random.Generator, episodes: int) -> list[dict[str, Any]]:
    """Random ones, and among them the best and those that leave its path once."""
    size, found = env._size, []
    for episode in range(episodes):
        actions = straight(env) if episode % 2 else rng.integers(2, size=size)
        if episode % 4 == 3:
            wrong = rng.integers(size)
            actions[wrong] = 1 - actions[wrong]
        noise = np.column_stack([rng.uniform(size=size), rng.normal(size=size)]).round(4)
        found.append(dive(env, actions, noise))
    return found


def swing_up(setting: int) -> CartpoleSwingup:
    return CartpoleSwingup(**sweep.SETTINGS[setting])


def swing(env: CartpoleSwingup, start: np.ndarray, actions: np.ndarray) -> dict[str, Any]:
    """From (x, x', angle, angle') until the actions are used up or the episode ends."""
    env.reset()
    env._state = CartpoleState(*map(float, start), time_elapsed=0.0)
    seen, rewards, ends = [env.observation[0].tolist()], [], []
    for action in actions:
        timestep = env.step(int(action))
        seen.append(timestep.observation[0].tolist())
        rewards.append(float(timestep.reward))
        ends.append(timestep.last())
        if timestep.last():
            break
    return {
        "start": np.asarray(start).tolist(),
        "actions": [int(action) for action in actions[: len(ends)]],
        "observations": seen,
        "rewards": rewards,
        "ends": ends,
    }


def random_starts(rng: np.random.Generator, size: int) -> np.ndarray:
    """Anywhere on the rail; a half slow, upright and in the middle, around where rewards begin."""
    starts = np.column_stack(
        [rng.uniform(-3, 3, size), rng.normal(0, 2, size), rng.uniform(0, 2 * np.pi, size), rng.normal(0, 3, size)]
    )
    starts[: size // 2] *= np.array([0.4, 0.5, 0.0, 0.4])
    starts[: size // 2, 2] = np.remainder(rng.normal(0, 0.7, size // 2), 2 * np.pi)
    return starts


def main() -> None:
    rng = np.random.default_rng(0)
    seas = [(4, 42, False), (10, 42, False), (7, 0, False), (5, None, False), (6, 3, True)]
    swings = []
    for setting in (0, 10, 19):
        env = swing_up(setting)
        ordinary, upright = np.array([0.02, -0.01, np.pi + 0.03, 0.04]), np.array([0.01, 0.0, 0.05, 0.0])
        starts = [ordinary, upright, *random_starts(rng, 10)[[0, 1, 2, 9]]]
        swings += [{"setting": setting, **swing(env, start, rng.integers(3, size=12))} for start in starts]
        swings.append({"setting": setting, **swing(env, np.array([2.9, 4.0, np.pi, 0.0]), np.full(12, 2))})  # falls off
    recorded = {
        "bsuite": version("bsuite"),
        "deep_sea": [
            {
                "size": size,
                "mapping_seed": seed,
                "stochastic": noisy,
                "mapping": env._action_mapping.astype(int).tolist(),
            }
            | {"episodes": dives(env, rng, 8)}
            for size, seed, noisy in seas
            for env in [deep_sea(size, seed, noisy)]
        ],
        "swing_up": swings,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
