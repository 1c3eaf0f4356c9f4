"""What is run: each method on each task, with the paper's settings and with tuned ones, 24 data sets side by side."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.data.nonlinear_problems import PROBLEMS, ROLLOUTS
from bayesbellman.evaluation.trials import run_trials
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose
from bayesbellman.experiments.nonlinear.methods import METHODS, PAPER, Setting
from bayesbellman.experiments.nonlinear.truth import true_values
from bayesbellman.experiments.nonlinear.tuned import TUNED

VARIANTS: dict[str, dict[tuple[str, str], Setting]] = {"paper": PAPER, "tuned": TUNED}
HOLD_OUT, TUNING = 0, 1
"""Which of the two streams of data sets: those that are reported, those that settings are chosen on."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    seeds: int = 24
    steps: int = 100_000
    every: int = 1_000
    batch_size: int = 512
    hidden: int = 256
    rollouts: int = ROLLOUTS
    transitions: int | None = None
    """None: the task's own number."""


FULL = Size()
QUICK = Size(seeds=2, steps=200, every=50, rollouts=5, transitions=2_000)


def plan(request: Request) -> Plan:
    """Everything asked for; a tuned variant exists only where the paper's setting was not a sensible one."""
    size = QUICK if request.quick else FULL
    if request.seeds is not None:
        if request.seeds < 1:
            raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
        size = Size(**{**vars(size), "seeds": request.seeds})
    tasks = choose("tasks", request.tasks, tuple(PROBLEMS))
    methods = choose("methods", request.methods, tuple(METHODS))
    variants = choose("variants", request.variants, tuple(VARIANTS))
    chosen = [
        (variant, task, method)
        for variant in variants
        for task in tasks
        for method in methods
        if (task, method) in VARIANTS[variant]
    ]
    if not chosen:
        raise ValueError(f"--variants {' '.join(variants)} holds no setting for these tasks and methods")
    jobs = tuple(
        Job(job_name(*address), size.seeds * size.steps, partial(run_job, *address, size)) for address in chosen
    )
    settings = {
        "size": vars(size),
        "tasks": list(tasks),
        "methods": list(methods),
        "variants": list(variants),
        "settings": {
            job_name(*address): {**VARIANTS[address[0]][address[1:]].numbers, "lower_steps": lower_steps(*address)}
            for address in chosen
        },
    }
    return Plan(settings, "training steps", jobs)


def job_name(variant: str, task: str, method: str) -> str:
    return f"{variant}.{task}.{list(METHODS).index(method)}"


def lower_steps(variant: str, task: str, method: str) -> int:
    return VARIANTS[variant][task, method].lower_steps


def data_keys(stream: int, task: str, number: int) -> jax.Array:
    """One per data set; the same for every method, so that methods are compared on the same data and start."""
    root = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), stream), list(PROBLEMS).index(task))
    return jax.random.split(root, number)


def run_job(variant: str, task: str, method: str, size: Size) -> Arrays:
    """Errors on the way, who diverged when, values at the end, and the truth they are held against."""
    setting, problem = VARIANTS[variant][task, method], PROBLEMS[task]
    truth = true_values(task, size.rollouts)
    trials = run_trials(
        data_keys(HOLD_OUT, task, size.seeds),
        METHODS[method].maker(problem.num_inputs, size.hidden, setting.lower_steps),
        {name: jnp.array([number]) for name, number in setting.numbers.items()},
        lambda key: problem.draw(key, size.transitions or problem.transitions),
        truth.inputs,
        truth.values,
        steps=size.steps,
        every=size.every,
        batch_size=size.batch_size,
    )
    return {
        "steps": trials.steps,
        "errors": trials.errors[..., 0],
        "diverged": trials.diverged[:, 0],
        "values": trials.values[:, 0].astype(np.float32),
        "true_values": truth.values,
        "true_stderr": truth.stderr,
    }
