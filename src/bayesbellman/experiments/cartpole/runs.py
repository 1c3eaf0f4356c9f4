"""Runs on the sparse cart-pole, side by side, and what is recorded of them. Used by all studies of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.parts import Number
from bayesbellman.control.train import Training
from bayesbellman.core.types import Transition
from bayesbellman.envs.base import AbstractControlEnv, EnvStep
from bayesbellman.envs.cartpole import CartPole, CartPoleState
from bayesbellman.envs.spaces import Spaces
from bayesbellman.experiments.artefact import Arrays, Desk, Request
from bayesbellman.experiments.control_runs import run_seeds

ANGLES, SPEEDS, FASTEST = 36, 24, 12.0
"""The grid on which visits are counted: of the angle, all round; of the angular velocity, up to this either way"""
MOMENTS = (1 / 100, 1 / 30, 1 / 10, 1 / 3, 1.0)
"""Shares of a run after which it is looked at"""


@dataclass(frozen=True)
class Size:
    """How much is run, and the loop's numbers."""

    seeds: int
    steps: int = 3_000_000
    every: int = 10_000
    episodes: int = 10
    hidden: tuple[int, ...] = (256, 256)
    batch_size: int = 256
    buffer_size: int = 1_000_000
    """As in the paper"""
    warmup: int = 1_000
    time_limit: int = 1_000

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ValueError(f"--seeds is {self.seeds}; accepted is a number >= 1")
        if self.steps < self.every or self.steps % self.every:
            raise ValueError(f"--steps is {self.steps}; accepted is a multiple of {self.every}")

    @property
    def moments(self) -> tuple[int, ...]:
        """When runs are looked at: always after an evaluation"""
        return tuple(sorted({max(1, round(share * self.steps / self.every)) * self.every for share in MOMENTS}))


QUICK = Size(2, 300, 100, 2, (4,), 8, 300, 100, 50)


def size_of(request: Request, full: Size) -> Size:
    """With what was asked for."""
    size = QUICK if request.quick else full
    size = size if request.seeds is None else replace(size, seeds=request.seeds)
    return size if request.steps is None else replace(size, steps=request.steps)


class Row(NamedTuple):
    """One run: to which group it belongs, its seed, and its floats."""

    group: str
    seed: int
    floats: Mapping[str, float]


class LimitEnds(AbstractControlEnv[CartPoleState]):
    """A cart-pole whose time limit is an end, beyond which there is no value, where ``ends`` is not 0."""

    inner: CartPole
    ends: Number

    @property
    def spaces(self) -> Spaces:
        return self.inner.spaces

    def reset(self, key: Key[Array, ""]) -> CartPoleState:
        return self.inner.reset(key)

    def observe(self, state: CartPoleState) -> Float[Array, "5"]:
        return self.inner.observe(state)

    def step(self, key: Key[Array, ""], state: CartPoleState, action: Float[Array, " 1"]) -> EnvStep[CartPoleState]:
        outcome = self.inner.step(key, state, action)
        return EnvStep(outcome.state, outcome.reward, outcome.truncated & (self.ends != 0), outcome.truncated)


def training(
    agent: Callable[..., AbstractAgent],
    size: Size,
    *,
    init_noise: Number = 0.01,
    limit_ends: Number | None = None,
    **floats: Number,
) -> Training:
    """``agent(hidden=..., **floats)`` on the paper's cart-pole."""
    env = CartPole(init_noise=init_noise, time_limit=size.time_limit)
    return Training(
        agent(hidden=size.hidden, **floats),
        env if limit_ends is None else LimitEnds(env, limit_ends),
        batch_size=size.batch_size,
        buffer_size=min(size.buffer_size, size.steps),
        warmup=size.warmup,
    )


def cell_of(observation: Float[Array, "N 5"]) -> Int[Array, " N"]:
    """Which cell of the grid it lies in; what is faster than the grid lies in its outermost cells."""
    angle = jnp.arctan2(observation[:, 2], observation[:, 1])  # 0 is upright
    across = jnp.clip(jnp.floor((angle / jnp.pi + 1) / 2 * ANGLES), 0, ANGLES - 1)
    up = jnp.clip(jnp.floor((observation[:, 4] / FASTEST + 1) / 2 * SPEEDS), 0, SPEEDS - 1)
    return (across * SPEEDS + up).astype(jnp.int32)


def places() -> Float[np.ndarray, "M 5"]:
    """The middles of the cells, with the cart at rest in the middle of the rail."""
    angle = (np.arange(ANGLES) + 0.5) / ANGLES * 2 * np.pi - np.pi
    speed = ((np.arange(SPEEDS) + 0.5) / SPEEDS * 2 - 1) * FASTEST
    angle, speed = (grid.ravel() for grid in np.meshgrid(angle, speed, indexing="ij"))
    still = np.zeros_like(angle)
    return np.stack([still, np.cos(angle), np.sin(angle), still, speed], axis=1)


def seen(time_limit: int, latest: Transition) -> dict[str, Array]:
    """Steps that earned the 1, episodes with such a step, the first of them (or -1), and visits of the grid."""
    rewarded = latest.reward > 0.5  # the push costs 0.1 at most
    nothing = jnp.zeros(ANGLES * SPEEDS, jnp.int32)
    return {
        "rewarded_steps": jnp.sum(rewarded, dtype=jnp.int32),
        "rewarded_episodes": jnp.sum(jnp.any(rewarded.reshape(-1, time_limit), axis=1), dtype=jnp.int32),
        "first_rewarded": jnp.where(jnp.any(rewarded), jnp.argmax(rewarded), -1).astype(jnp.int32),
        "visits": nothing.at[cell_of(latest.observation)].add(1).astype(jnp.int16),
    }


def run_rows(agent: Callable[..., AbstractAgent], rows: Sequence[Row], size: Size, desk: Desk) -> Arrays:
    """Runs that share a program, and so have the same floats by name. Episodes have one length: evaluations fall
    between them."""
    names = list(rows[0].floats)
    floats = {name: np.array([row.floats[name] for row in rows]) for name in names}
    found = run_seeds(
        partial(training, agent, size),
        [row.seed for row in rows],
        floats,
        steps=size.steps,
        every=size.every,
        episodes=size.episodes,
        moments=size.moments,
        places=places(),
        watch=partial(seen, size.time_limit),
        desk=desk,
    )
    first = found.watched["first_rewarded"]
    earned = first >= 0
    at = np.argmax(earned, axis=0)
    step = at * size.every + np.take_along_axis(first, at[None], axis=0)[0] + 1
    looked = np.searchsorted(found.steps, size.moments)
    visits = np.cumsum(found.watched["visits"], axis=0, dtype=np.int32)[looked]
    return {
        "group": np.array([row.group for row in rows]),
        "seed": np.array([row.seed for row in rows]),
        "steps": found.steps,
        "returns": np.mean(found.evaluations, axis=2),
        "rewarded_steps": found.watched["rewarded_steps"],
        "rewarded_episodes": found.watched["rewarded_episodes"],
        "first_reward": np.where(earned.any(axis=0), step, np.inf),
        "disagreement": found.disagreement,
        "critic_loss": found.critic_loss,
        "moments": np.array(size.moments),
        "visits": visits.reshape(len(visits), len(rows), ANGLES, SPEEDS),
        "spread": np.std(found.values, axis=2).astype(np.float32).reshape(len(visits), len(rows), ANGLES, SPEEDS),
        "seconds": np.array(found.seconds),
    }
