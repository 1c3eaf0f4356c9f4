"""What is run: each agent on the paper's number of seeds and on twenty of ours, 1e5 steps."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose, refuse, slug
from bayesbellman.experiments.control_runs import Runs, result_of, run_seeds
from bayesbellman.experiments.sparse.baseline import SAC_AT_OURS

PAPER_SEEDS, OWN_SEEDS = 5, 20
"""Seeds 0-4 stand for the paper's five, 5-24 are ours."""
EVERY = 1_000
"""Steps from one evaluation to the next"""
ENTROPIES = (-8.0, -4.0, -2.0, -1.0, 0.0, 0.5, 1.0)
"""Target entropies of SAC that the paper tried, five seeds each"""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    seeds: int = PAPER_SEEDS + OWN_SEEDS
    entropy_seeds: int = 5
    steps: int = 100_000
    episodes: int = 20
    hidden: tuple[int, ...] = (256, 256)
    batch_size: int = 256


FULL = Size()
QUICK = Size(seeds=2, entropy_seeds=1, steps=2_000, episodes=2, hidden=(8,), batch_size=16)
AGENTS: dict[str, Callable[[tuple[int, ...]], AbstractAgent]] = {
    "RP-BBAC": lambda hidden: BBAC(hidden=hidden),
    "RP-BBAC, paper's recipe": lambda hidden: BBAC(hidden=hidden, **RECIPES["paper"]),
    "BAC": lambda hidden: BBAC(hidden=hidden, target_smoothing=1.0),
    "SAC": lambda hidden: SAC(hidden=hidden),
    "SAC*": lambda hidden: SAC(hidden=hidden, num_critics=1),
    SAC_AT_OURS: lambda hidden: SAC(hidden=hidden, learning_rate=RECIPES["ours"]["learning_rate"]),
}
"""RP-BBAC and BAC have our default recipe, SAC and SAC* the paper's learning rate."""
STUDY = "SAC, target entropies"
NOT_KEPT = ("watched", "values", "visited")


def size_of(request: Request, full: Size) -> Size:
    """With what was asked for."""
    size = QUICK if request.quick else full
    if request.seeds is not None:
        if request.seeds < 1:
            raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
        size = replace(size, seeds=request.seeds, entropy_seeds=min(request.seeds, size.entropy_seeds))
    if request.steps is not None:
        if request.steps < EVERY or request.steps % EVERY:
            raise ValueError(f"--steps is {request.steps}; accepted is a multiple of {EVERY}")
        size = replace(size, steps=request.steps)
    return size


def plan(request: Request) -> Plan:
    """``--methods`` are the agents; ``--seeds`` changes how many runs each has, ``--steps`` how long they are."""
    refuse("mountain-car", request, "tasks", "variants")
    size = size_of(request, FULL)
    names = choose("methods", request.methods, (*AGENTS, STUDY))
    jobs = []
    for name in names:
        seeds = size.entropy_seeds * len(ENTROPIES) if name == STUDY else size.seeds
        jobs.append(Job(slug(name), seeds * size.steps, partial(run_job, name, size), in_pieces=True))
    return Plan({"size": asdict(size), "agents": list(names), "recipes": RECIPES}, "steps", tuple(jobs))


def training(agent: AbstractAgent, size: Size) -> Training:
    buffer_size = max(size.steps, size.batch_size)
    return Training(agent, MountainCar(), batch_size=size.batch_size, buffer_size=buffer_size)


def run_job(name: str, size: Size, desk: Desk) -> Arrays:
    """Evaluations and what training saw, by seed; in the study a row of seeds per target entropy."""
    if name == STUDY:
        numbers = np.repeat(ENTROPIES, size.entropy_seeds)
        seeds, settings = list(range(len(numbers))), {"target_entropy": numbers}
    else:
        seeds, settings = list(range(size.seeds)), {}
        numbers = np.zeros(len(seeds))

    def make(**floats) -> Training:
        return training(SAC(hidden=size.hidden, **floats) if name == STUDY else AGENTS[name](size.hidden), size)

    def record(found: Runs) -> Arrays:
        kept = {key: np.asarray(value) for key, value in found._asdict().items() if key not in NOT_KEPT}
        return {"agent": np.array(name), "seeds": np.array(seeds), "numbers": numbers, **kept}

    run = partial(run_seeds, make, seeds, settings, steps=size.steps, every=EVERY, episodes=size.episodes, desk=desk)
    return result_of(run, record)
