"""What is run: a job per task and family of methods, on three tuning data sets that the reported ones are not among."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import jax.numpy as jnp
import numpy as np

from bayesbellman.data.nonlinear_problems import PROBLEMS
from bayesbellman.evaluation.trials import run_trials
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose
from bayesbellman.experiments.nonlinear.methods import METHODS, Setting
from bayesbellman.experiments.nonlinear.sweep import FULL, QUICK, TUNING, Size, data_keys
from bayesbellman.experiments.nonlinear.truth import true_values
from bayesbellman.experiments.nonlinear_tuning.search import FAMILIES, Tried, search

SETS, STEPS = 3, 20_000
"""The paper's number of tuning data sets; a fifth of the training steps that are reported, for time."""
NUMBERS = ("upper", "lower", "prior", "rate", "slow", "fast")


def plan(request: Request) -> Plan:
    """``--methods`` chooses whole families: BBO is searched from what was found without the prior."""
    if request.variants:
        raise ValueError("--variants: tuning has none to choose from, leave it out")
    sets = request.seeds if request.seeds is not None else 1 if request.quick else SETS
    if sets < 1:
        raise ValueError(f"--seeds is {sets}; accepted is a number of tuning data sets >= 1")
    size = Size(**{**asdict(QUICK if request.quick else FULL), "seeds": sets, "steps": STEPS})
    if request.quick:
        size = Size(**{**asdict(size), "steps": 20, "every": 20, "hidden": 16, "batch_size": 32})
    tasks = choose("tasks", request.tasks, tuple(PROBLEMS))
    methods = choose("methods", request.methods, tuple(METHODS))
    families = [name for name, (members, _) in FAMILIES.items() if set(members) & set(methods)]
    jobs = tuple(
        Job(f"{task}.{family}", 1, partial(run_job, task, family, size)) for task in tasks for family in families
    )
    return Plan({"size": asdict(size), "tasks": list(tasks), "families": families}, "searches", jobs)


def run_job(task: str, family: str, size: Size) -> Arrays:
    """Every setting tried: its method, stage and numbers, and the final errors on the tuning data sets."""
    tried = search(task, family, partial(attempt, task, size))
    return {
        "method": np.array([list(METHODS).index(one.method) for one in tried]),
        "stage": np.array([one.stage for one in tried]),
        "lower_steps": np.array([one.setting.lower_steps for one in tried]),
        "errors": np.stack([one.errors for one in tried]),
        "diverged": np.stack([one.diverged for one in tried]),
        **{name: np.array([one.setting.numbers.get(name, np.nan) for one in tried]) for name in NUMBERS},
    }


def attempt(task: str, size: Size, method: str, stage: str, settings: Sequence[Setting]) -> list[Tried]:
    """All of them side by side, in one compiled program."""
    problem, truth = PROBLEMS[task], true_values(task, size.rollouts)
    numbers = {name: jnp.array([one.numbers[name] for one in settings]) for name in settings[0].numbers}
    trials = run_trials(
        data_keys(TUNING, task, size.seeds),
        METHODS[method].maker(problem.num_inputs, size.hidden, settings[0].lower_steps),
        numbers,
        lambda key: problem.draw(key, size.transitions or problem.transitions),
        truth.inputs,
        truth.values,
        steps=size.steps,
        every=size.steps // 10 if size.steps % 10 == 0 else size.steps,
        batch_size=size.batch_size,
    )
    final = np.where(trials.diverged >= 0, np.inf, trials.errors[-1])
    return [Tried(method, stage, one, final[:, i], trials.diverged[:, i]) for i, one in enumerate(settings)]
