"""Each quirk alone, on the tasks and methods that it can touch, beside the same runs without any."""

from functools import partial

from bayesbellman.data.datasets import TASKS
from bayesbellman.data.quirks import CORRECT, QUIRKS
from bayesbellman.experiments.artefact import Job, Plan, Request, choose
from bayesbellman.experiments.linear.methods import METHODS
from bayesbellman.experiments.linear.sweep import QUICK_SEEDS, Variant, chunks, run_job

OFF_POLICY = ("disc_random_off", "lqr_imp_offpolicy", "lqr_full_offpolicy", "link20_imp_offpolicy")
RANDOM = ("disc_random_on", "disc_random_off")
TOUCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "folded-states": dict.fromkeys(RANDOM, METHODS),
    "averaged-rewards": dict.fromkeys(RANDOM, ("BBO", "GTD2")),
    "density-sum": {"link20_imp_offpolicy": METHODS},
    "early-checkpoints": dict.fromkeys(TASKS, ("BBO", "TD")),
    "successor-weights": dict.fromkeys(OFF_POLICY, ("LSTD",)),
    "first-weight": dict.fromkeys(OFF_POLICY, ("TD",)),
    "trace-from-one": {"lqr_imp_onpolicy": ("BRM",)},
    "unstated-prior": dict.fromkeys(("lqr_imp_onpolicy", "lqr_imp_offpolicy", "link20_imp_offpolicy"), ("BBO",)),
    "float32": dict.fromkeys(TASKS, ("BBO",)),
}
"""Where each quirk can show."""
RUNS = 50
NONE = "none"
"""The name of the runs without any quirk."""


def plan(request: Request) -> Plan:
    """``variants`` are quirks here."""
    tasks = choose("tasks", request.tasks, tuple(TASKS))
    methods = choose("methods", request.methods, METHODS)
    asked = choose("variants", request.variants, tuple(QUIRKS))
    if request.seeds is not None and request.seeds < 1:
        raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
    runs = request.seeds if request.seeds is not None else QUICK_SEEDS if request.quick else RUNS
    touched = {
        (quirk, task): [method for method in METHODS if method in TOUCHES[quirk][task] and method in methods]
        for quirk in asked
        for task in tasks
        if task in TOUCHES[quirk]
    }
    for task in tasks:  # without any quirk: what any of them touches
        touched[NONE, task] = [m for m in METHODS if any(m in ms for (q, t), ms in touched.items() if t == task)]
    jobs = [
        Job(
            f"{quirk}.{task}.{chunk[0]:05d}",
            len(chunk) * len(learn),
            partial(
                run_job, task, Variant(CORRECT if quirk == NONE else frozenset({quirk}), "own"), tuple(chunk), learn
            ),
        )
        for (quirk, task), learn in touched.items()
        if learn
        for chunk in chunks(TASKS[task], runs)
    ]
    settings = {"tasks": list(tasks), "methods": list(methods), "variants": list(asked), "runs": runs}
    return Plan(settings, "runs", tuple(jobs))
