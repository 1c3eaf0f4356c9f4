"""What is run: one seed of three agents, looked at in powers of three."""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from bayesbellman.control.train import Training
from bayesbellman.data.nonlinear_problems import grid
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose, refuse, slug
from bayesbellman.experiments.control_runs import run_seeds
from bayesbellman.experiments.mountain_car.sweep import AGENTS

SHOWN = ("RP-BBAC", "BAC", "SAC")
SIDE = 41


@dataclass(frozen=True)
class Size:
    """How much is run."""

    moments: tuple[int, ...] = (1_000, 3_000, 9_000, 27_000, 81_000)
    hidden: tuple[int, ...] = (256, 256)
    batch_size: int = 256
    seed: int = 0


FULL, QUICK = Size(), Size(moments=(1_000, 2_000), hidden=(8,), batch_size=16)


def plan(request: Request) -> Plan:
    size = QUICK if request.quick else FULL
    refuse("state-support", request, "tasks", "variants")
    if request.seeds not in (None, 1):
        raise ValueError(f"--seeds is {request.seeds}; state-support looks at one run of each agent, leave it out")
    names = choose("methods", request.methods, SHOWN)
    jobs = tuple(Job(slug(name), size.moments[-1], partial(run_job, name, size), in_pieces=True) for name in names)
    return Plan({"size": asdict(size), "agents": list(names)}, "steps", jobs)


def places() -> np.ndarray:
    """States of the car, where members' values are looked at."""
    env = MountainCar()
    return grid(env.low, env.high, SIDE)


def run_job(name: str, size: Size, desk: Desk) -> Arrays:
    """Members' values on a grid at each moment, and where the car has been."""
    steps = size.moments[-1]
    training = Training(AGENTS[name](size.hidden), MountainCar(), batch_size=size.batch_size, buffer_size=steps)
    found = run_seeds(
        lambda: training,
        [size.seed],
        steps=steps,
        episodes=5,
        moments=size.moments,
        places=places(),
        keep_visited=True,
        desk=desk,
    )
    return {
        "agent": np.array(name),
        "moments": np.array(size.moments),
        "values": found.values[:, 0].astype(np.float32),
        "visited": found.visited[0],
        "successes": np.cumsum(found.successes[:, 0]),
        "steps": found.steps,
    }
