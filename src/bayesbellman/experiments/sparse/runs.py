"""Runs on a sparse task, side by side, and what is recorded of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.parts import Number
from bayesbellman.control.train import Training
from bayesbellman.core.types import Transition
from bayesbellman.experiments.artefact import Arrays, Desk, Request
from bayesbellman.experiments.control_runs import Runs, result_of, run_seeds
from bayesbellman.experiments.sparse.task import EARNED, Plane, Task

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


def training(agent: Callable[..., AbstractAgent], task: Task, size: Size, **floats: Number) -> Training:
    """``agent(hidden=..., **floats)`` on the task, which takes the floats that are its own."""
    own = {name: floats.pop(name) for name in task.floats if name in floats}
    return Training(
        agent(hidden=size.hidden, **floats),
        task.make(time_limit=size.time_limit, **own),
        batch_size=size.batch_size,
        buffer_size=min(size.buffer_size, size.steps),
        warmup=size.warmup,
    )


def seen(plane: Plane, time_limit: int, latest: Transition) -> dict[str, Array]:
    """Steps that earned the 1, episodes with such a step, the first of them (or -1), and visits of the grid."""
    rewarded = latest.reward > EARNED
    across, up = plane.shape
    nothing = jnp.zeros(across * up, jnp.int32)
    return {
        "rewarded_steps": jnp.sum(rewarded, dtype=jnp.int32),
        "rewarded_episodes": jnp.sum(jnp.any(rewarded.reshape(-1, time_limit), axis=1), dtype=jnp.int32),
        "first_rewarded": jnp.where(jnp.any(rewarded), jnp.argmax(rewarded), -1).astype(jnp.int32),
        "visits": nothing.at[plane.cell_of(latest.observation)].add(1).astype(jnp.int16),
    }


def run_rows(agent: Callable[..., AbstractAgent], task: Task, rows: Sequence[Row], size: Size, desk: Desk) -> Arrays:
    """Runs that share a program, and so have the same floats by name. Episodes have one length: evaluations fall
    between them."""
    names = list(rows[0].floats)
    floats = {name: np.array([row.floats[name] for row in rows]) for name in names}
    run = partial(
        run_seeds,
        partial(training, agent, task, size),
        [row.seed for row in rows],
        floats,
        steps=size.steps,
        every=size.every,
        episodes=size.episodes,
        moments=size.moments,
        places=task.plane.places(),
        watch=partial(seen, task.plane, size.time_limit),
        desk=desk,
    )
    return result_of(run, partial(recorded, task, rows, size))


def recorded(task: Task, rows: Sequence[Row], size: Size, found: Runs) -> Arrays:
    """What is kept of the runs, up to their last evaluation."""
    first = found.watched["first_rewarded"]
    earned = first >= 0
    at = np.argmax(earned, axis=0)
    step = at * size.every + np.take_along_axis(first, at[None], axis=0)[0] + 1
    moments = [moment for moment in size.moments if moment <= found.steps[-1]]
    looked = np.searchsorted(found.steps, moments)
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
        "moments": np.array(moments),
        "visits": visits.reshape(len(visits), len(rows), *task.plane.shape),
        "spread": np.std(found.values, axis=2).astype(np.float32).reshape(len(visits), len(rows), *task.plane.shape),
        "seconds": np.array(found.seconds),
    }
