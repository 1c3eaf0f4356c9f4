"""What is run: RP-BBAC and SAC with every setting as it is, on two tasks, five seeds, 200,000 steps."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.control.sac import SAC
from bayesbellman.doors.agents import OTHER_PRIOR_SCALE
from bayesbellman.experiments.artefact import Plan, Request, choose, refuse
from bayesbellman.experiments.sparse.baseline import SACS
from bayesbellman.experiments.sparse.planning import agent_jobs
from bayesbellman.experiments.sparse.runs import Size, size_of
from bayesbellman.experiments.sparse_tasks.tasks import TASKS

FULL = Size(seeds=5, steps=200_000, every=2_000)
PROGRAMS: dict[str, Callable[..., AbstractAgent]] = {"bbac": partial(BBAC, prior_scale=OTHER_PRIOR_SCALE), "sac": SAC}
"""What ``bbo train`` makes for an environment that nobody has a prior scale for: 30, and all else the default"""
AGENTS: dict[str, tuple[str, dict[str, float]]] = {"RP-BBAC": ("bbac", dict(RECIPES["ours"])), **SACS}


def plan(request: Request) -> Plan:
    """``--tasks`` and ``--methods``, the agents."""
    refuse("sparse-tasks", request, "variants")
    size = size_of(request, FULL)
    tasks = choose("tasks", request.tasks, tuple(TASKS))
    names = choose("methods", request.methods, tuple(AGENTS))
    jobs = []
    for task in tasks:
        here = size if request.quick else replace(size, time_limit=TASKS[task].time_limit)
        jobs += agent_jobs(PROGRAMS, AGENTS, names, TASKS[task], here, several=True)
    shared = {name: value for name, value in asdict(size).items() if name != "time_limit"}  # each task has its own
    agents = {name: AGENTS[name][1] for name in names}
    settings = {"size": shared, "tasks": list(tasks), "agents": agents, "prior_scale": OTHER_PRIOR_SCALE}
    return Plan(settings, "steps", tuple(jobs))
