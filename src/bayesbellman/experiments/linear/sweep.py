"""What the linear experiments run: tasks, methods and seeds, cut into jobs of runs that share one problem."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from bayesbellman.data.datasets import TASKS, LinearTask
from bayesbellman.data.quirks import AS_PUBLISHED, CORRECT
from bayesbellman.data.streams import Streams
from bayesbellman.evaluation.run import Checkpoints, LinearValueError, learning_curves
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose
from bayesbellman.experiments.linear.methods import METHODS, estimator

RUNS_PER_JOB = {"link20_imp_onpolicy": 10, "link20_imp_offpolicy": 10}
"""Where a run's data are large, fewer are held at once."""
DEFAULT_RUNS_PER_JOB = 25
QUICK_SEEDS = 4


class Variant(NamedTuple):
    """A way to run the tables: with the benchmark's quirks or without, and whose random numbers drive training."""

    quirks: frozenset[str]
    streams: Streams


VARIANTS = {
    "published": Variant(AS_PUBLISHED, "reference"),
    "own-streams": Variant(AS_PUBLISHED, "own"),
    "correct": Variant(CORRECT, "own"),
}
"""As published with the benchmark's random numbers, the same with ours, and correct."""


def plan(request: Request) -> Plan:
    """Every variant, task and method asked for, with the paper's number of runs unless told otherwise."""
    tasks = choose("tasks", request.tasks, tuple(TASKS))
    methods = choose("methods", request.methods, METHODS)
    variants = choose("variants", request.variants, tuple(VARIANTS))
    if request.seeds is not None and request.seeds < 1:
        raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
    most = request.seeds if request.seeds is not None else QUICK_SEEDS if request.quick else None
    runs = {name: TASKS[name].runs if most is None else most for name in tasks}
    jobs = [
        Job(
            f"{variant}.{name}.{chunk[0]:05d}",
            len(chunk) * len(methods),
            partial(run_job, name, VARIANTS[variant], tuple(chunk), methods),
        )
        for name in sorted(tasks, key=lambda name: -_cost(TASKS[name]) * runs[name])  # the long ones first
        for variant in variants
        for chunk in chunks(TASKS[name], runs[name])
    ]
    settings = {"tasks": list(tasks), "methods": list(methods), "variants": list(variants), "runs": runs}
    return Plan(settings, "runs", tuple(jobs))


def _cost(task: LinearTask) -> int:
    return task.transitions * (100 if task.runs_per_draw else 1)  # 200 features there, 4 to 40 elsewhere


def chunks(task: LinearTask, runs: int) -> list[range]:
    """Seeds of one job: those that share a draw of the problem, or as many as memory allows."""
    size = task.runs_per_draw or RUNS_PER_JOB.get(task.name, DEFAULT_RUNS_PER_JOB)
    return [range(start, min(start + size, runs)) for start in range(0, runs, size)]


def run_job(name: str, variant: Variant, seeds: Sequence[int], methods: Sequence[str]) -> Arrays:
    """RMSE at every checkpoint, by method: one row per seed. All methods learn from the same data."""
    task, (quirks, streams) = TASKS[name], variant
    with jax.enable_x64(True):
        problem = task.problem(quirks, task.draw_of(seeds[0]))
        experience = task.experience(problem, seeds, streams)
        error = LinearValueError.over(problem.measure)
        checkpoints = Checkpoints.at(task.checkpoints(quirks))
        return {
            method: np.asarray(
                learning_curves(
                    jax.random.key(0),  # no method draws random numbers of its own
                    estimator(name, method, problem.features.num_features, quirks),
                    experience,
                    problem.features,
                    error,
                    checkpoints,
                )
            )
            for method in methods
        }
