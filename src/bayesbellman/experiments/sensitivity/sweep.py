"""What is run: RP-BBAC on the cart-pole with other numbers of members, prior scales and prior weights, three seeds."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose
from bayesbellman.experiments.cartpole.sweep import PRIOR_SCALE
from bayesbellman.experiments.cartpole.task import PAPER as PAPER_TASK
from bayesbellman.experiments.cartpole_levers.sweep import WIDTHS
from bayesbellman.experiments.sparse.planning import cut, refuse
from bayesbellman.experiments.sparse.runs import Row, Size, run_rows, size_of

FULL = Size(seeds=3, steps=1_000_000)
"""Fewer than the paper's 3e6: our recipe solved the task on some seeds after 300,000 (docs/cartpole-study.md)."""
MEMBERS, SCALE, WEIGHT = "members", "prior scale", "prior weight"
PAPER: dict[str, float] = {MEMBERS: 8.0, SCALE: PRIOR_SCALE, WEIGHT: 3e-5}
AXES: dict[str, tuple[float, ...]] = {
    MEMBERS: (1.0, 2.0, 4.0, 8.0, 16.0),
    SCALE: (3.2, 10.0, 32.0, 100.0, 320.0),
    WEIGHT: (1e-6, 1e-5, 3e-5, 1e-4, 1e-3),
}
"""What is changed, one at a time. The paper's value is in each: those runs, with 8 members, are made once."""


def plan(request: Request) -> Plan:
    """``--methods`` are what is changed, ``--variants`` the width, wide if none is named."""
    refuse("sensitivity", request, "tasks")
    size = size_of(request, FULL)
    axes = choose("methods", request.methods, tuple(AXES))
    (width, *more) = choose("variants", request.variants or ("wide",), tuple(WIDTHS))
    if more:
        raise ValueError("--variants: sensitivity has one width at a time, narrow or wide")
    size = size if request.quick else replace(size, hidden=WIDTHS[width])
    changes = [(axis, value) for axis in axes for value in AXES[axis] if value != PAPER[axis]]
    floats = [(MEMBERS, PAPER[MEMBERS]), *(change for change in changes if change[0] != MEMBERS)]
    jobs = [_job(*part, size) for part in cut("prior", floats, size)]
    jobs += [_job(f"members.{int(value)}", [(axis, value)], size) for axis, value in changes if axis == MEMBERS]
    settings = {"size": asdict(size), "axes": list(axes), "width": width, "recipe": RECIPES["ours"]}
    return Plan(settings, "steps", tuple(jobs))


def group_name(axis: str, value: float) -> str:
    return f"{axis} {value:g}"


def _job(name: str, changes: Sequence[tuple[str, float]], size: Size) -> Job:
    """Scales and weights are floats: those of a job share its program."""
    run = partial(run_job, tuple(changes), size)
    return Job(name, len(changes) * size.seeds * size.steps, run, in_pieces=True)


def run_job(changes: Sequence[tuple[str, float]], size: Size, desk: Desk) -> Arrays:
    rows, members = [], int(PAPER[MEMBERS])
    for axis, value in changes:
        here = {**PAPER, axis: value}
        members = int(here[MEMBERS])
        floats = {"prior_scale": here[SCALE], "prior_weight": here[WEIGHT]}
        rows += [Row(group_name(axis, value), seed, floats) for seed in range(size.seeds)]
    return run_rows(partial(BBAC, ensemble_size=members), PAPER_TASK, rows, size, desk)
