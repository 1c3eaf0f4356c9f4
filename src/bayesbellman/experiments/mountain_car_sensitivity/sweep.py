"""What is run: RP-BBAC on MountainCar with other numbers of members, prior scales and prior weights, five seeds."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.control.train import Training
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose, refuse
from bayesbellman.experiments.control_runs import Runs, result_of, run_seeds
from bayesbellman.experiments.mountain_car.sweep import EVERY, Size, size_of, training
from bayesbellman.experiments.sensitivity.ranges import MEMBERS, SCALE, WEIGHT, Change, Ranges, group_name, one_width

FULL = Size(seeds=5, steps=30_000)
"""A third of the paper's steps: with its own numbers and our recipe the task is solved within 11,000."""
WIDTHS = {"narrow": (64, 64), "wide": (256, 256)}
"""The demonstration's, for a CPU, and the paper's"""
JOB_STEPS = 750_000
"""Of all runs of a job together, at most: two jobs of floats, so that two cores have one each"""
RANGES = Ranges(
    {MEMBERS: 8.0, SCALE: 100.0, WEIGHT: 3e-5},
    {
        MEMBERS: (1.0, 2.0, 4.0, 8.0, 16.0),
        SCALE: (10.0, 32.0, 100.0, 320.0, 1000.0),
        WEIGHT: (1e-6, 1e-5, 3e-5, 1e-4, 1e-3),
    },
)


def plan(request: Request) -> Plan:
    """``--methods`` are what is changed, ``--variants`` the width, wide if none is named."""
    refuse("mountain-car-sensitivity", request, "tasks")
    size = size_of(request, FULL)
    axes = choose("methods", request.methods, tuple(RANGES.axes))
    width = one_width("mountain-car-sensitivity", request, WIDTHS)
    size = size if request.quick else replace(size, hidden=WIDTHS[width])
    jobs = [
        Job(name, len(changes) * size.seeds * size.steps, partial(run_job, changes, size), in_pieces=True)
        for name, changes in RANGES.jobs(axes, size, JOB_STEPS)
    ]
    ours = {name: value for name, value in asdict(size).items() if name != "entropy_seeds"}  # there is no such study
    settings = {"size": ours, "axes": list(axes), "width": width, "recipe": RECIPES["ours"]}
    return Plan(settings, "steps", tuple(jobs))


def run_job(changes: Sequence[Change], size: Size, desk: Desk) -> Arrays:
    """A row of runs for each change, a run for each seed."""
    numbers = [RANGES.floats(change) for change in changes for _ in range(size.seeds)]
    groups = [group_name(*change) for change in changes for _ in range(size.seeds)]
    seeds = [*range(size.seeds)] * len(changes)

    def make(**floats) -> Training:
        return training(BBAC(hidden=size.hidden, ensemble_size=RANGES.members(changes[0]), **floats), size)

    def record(found: Runs) -> Arrays:
        return {
            "group": np.array(groups),
            "seed": np.array(seeds),
            "steps": found.steps,
            "returns": np.mean(found.evaluations, axis=2),
            "goals": found.successes,
            "disagreement": found.disagreement,
            "critic_loss": found.critic_loss,
            "seconds": np.array(found.seconds),
        }

    settings = {name: np.array([row[name] for row in numbers]) for name in numbers[0]}
    run = partial(run_seeds, make, seeds, settings, steps=size.steps, every=EVERY, episodes=size.episodes, desk=desk)
    return result_of(run, record)
