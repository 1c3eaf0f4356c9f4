"""The sparse pendulum and acrobot as studies need to know them.

A success is chosen without an agent: half of what a controller that knows the physics earns (131 and about 260, in
``tests/envs/test_swing_ups.py``), rounded up to the next 50.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bayesbellman.envs import pendulum
from bayesbellman.envs.acrobot import AcrobotSparse
from bayesbellman.envs.pendulum import PendulumSparse
from bayesbellman.experiments.sparse.task import Axis, Plane, Task


def seen_of_pendulum(observation: Float[Array, "N 3"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    return jnp.arctan2(observation[:, 1], observation[:, 0]), observation[:, 2]  # the angle 0 is upright


def shown_of_pendulum(angle: Float[np.ndarray, " M"], speed: Float[np.ndarray, " M"]) -> Float[np.ndarray, "M 3"]:
    return np.stack([np.cos(angle), np.sin(angle), speed], axis=1)


def seen_of_acrobot(observation: Float[Array, "N 6"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """Both angles, 0 where a link goes on as what it hangs from does."""
    first = jnp.arctan2(observation[:, 1], observation[:, 0])
    return first, jnp.arctan2(observation[:, 3], observation[:, 2])


def shown_of_acrobot(first: Float[np.ndarray, " M"], second: Float[np.ndarray, " M"]) -> Float[np.ndarray, "M 6"]:
    """Both links at rest."""
    still = np.zeros_like(first)
    return np.stack([np.cos(first), np.sin(first), np.cos(second), np.sin(second), still, still], axis=1)


PENDULUM = Task(
    "pendulum",
    PendulumSparse,
    100.0,
    Plane(
        Axis("angle", math.pi, 36), Axis("angular velocity", pendulum.FASTEST, 24), seen_of_pendulum, shown_of_pendulum
    ),
    time_limit=200,
)
ACROBOT = Task(
    "acrobot",
    AcrobotSparse,
    150.0,
    Plane(
        Axis("angle of the first link", math.pi, 36),
        Axis("angle of the second", math.pi, 36),
        seen_of_acrobot,
        shown_of_acrobot,
    ),
    time_limit=500,
)
TASKS = {task.name: task for task in (PENDULUM, ACROBOT)}


def task_of(job: str) -> Task:
    """By the name of a job, ``task.program``."""
    return TASKS[job.partition(".")[0]]
