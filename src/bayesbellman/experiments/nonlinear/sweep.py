"""What is run: each method on each task, with the paper's settings and with tuned ones, 24 data sets side by side."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.data.nonlinear_problems import PROBLEMS, ROLLOUTS
from bayesbellman.evaluation.trials import run_trials
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose
from bayesbellman.experiments.nonlinear.methods import METHODS, PAPER, Method, Setting
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
    """Everything asked for."""
    size = QUICK if request.quick else FULL
    if request.seeds is not None:
        if request.seeds < 1:
            raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
        size = Size(**{**vars(size), "seeds": request.seeds})
    tasks = choose("tasks", request.tasks, tuple(PROBLEMS))
    methods = choose("methods", request.methods, tuple(METHODS))
    variants = choose("variants", request.variants, tuple(VARIANTS))
    programs = arrange(tasks, methods, variants)
    trials = size.seeds * size.steps
    jobs = tuple(Job(one.name, len(one.rows) * trials, partial(run_job, one, size)) for one in programs)
    settings = {
        "size": vars(size),
        "tasks": list(tasks),
        "methods": list(methods),
        "variants": list(variants),
        "settings": {
            f"{variant} | {one.task} | {method}": {**numbers, "lower_steps": one.lower_steps}
            for one in programs
            for (variant, method), numbers in one.rows.items()
        },
    }
    return Plan(settings, "training steps", jobs)


@dataclass(frozen=True)
class Program:
    """Settings that differ in numbers alone, and so run side by side in one compiled program."""

    task: str
    lower_steps: int
    rows: Mapping[tuple[str, str], Mapping[str, float]]
    """By variant and method; the methods have one estimator."""

    @property
    def method(self) -> Method:
        return METHODS[next(iter(self.rows))[1]]

    @property
    def name(self) -> str:
        return f"{self.task}.{self.method.estimator.__name__.strip('_')}.{self.lower_steps}"


def arrange(tasks: Sequence[str], methods: Sequence[str], variants: Sequence[str]) -> list[Program]:
    """The settings asked for, those of one estimator and number of lower-level steps together; the long ones last."""
    together: dict[tuple, dict[tuple[str, str], Mapping[str, float]]] = defaultdict(dict)
    for task, method, variant in product(tasks, methods, variants):
        setting = VARIANTS[variant][task, method]
        kind = task, METHODS[method].estimator, setting.lower_steps
        together[kind][variant, method] = setting.numbers
    programs = [Program(task, lower_steps, rows) for (task, _, lower_steps), rows in together.items()]
    return sorted(programs, key=lambda one: one.lower_steps)


def data_keys(stream: int, task: str, number: int) -> jax.Array:
    """One per data set; the same for every method, so that methods are compared on the same data and start."""
    root = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), stream), list(PROBLEMS).index(task))
    return jax.random.split(root, number)


def run_job(program: Program, size: Size) -> Arrays:
    """Errors on the way, who diverged when, values at the end, and the truth they are held against."""
    problem, truth = PROBLEMS[program.task], true_values(program.task, size.rollouts)
    rows = list(program.rows.values())
    names = list(dict.fromkeys(name for row in rows for name in row))
    trials = run_trials(
        data_keys(HOLD_OUT, program.task, size.seeds),
        program.method.maker(problem.num_inputs, size.hidden, program.lower_steps),
        {name: jnp.array([row.get(name, 0.0) for row in rows]) for name in names},  # no prior: one of weight 0
        lambda key: problem.draw(key, size.transitions or problem.transitions),
        truth.inputs,
        truth.values,
        steps=size.steps,
        every=size.every,
        batch_size=size.batch_size,
    )
    return {
        "task": np.array(program.task),
        "variant": np.array([variant for variant, _ in program.rows]),
        "method": np.array([method for _, method in program.rows]),
        "steps": trials.steps,
        "errors": trials.errors,
        "diverged": trials.diverged,
        "values": trials.values.astype(np.float32),
        "true_values": truth.values,
        "true_stderr": truth.stderr,
    }
