"""What is run: each agent on five seeds, 3e6 steps. Agents that differ in floats share a program."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC
from bayesbellman.control.sac import SAC
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose
from bayesbellman.experiments.cartpole.runs import Row, Size, run_rows, size_of

PRIOR_SCALE = 32.0
FULL = Size(seeds=5)
PROGRAMS: dict[str, Callable[..., AbstractAgent]] = {
    "bbac": partial(BBAC, prior_scale=PRIOR_SCALE),
    "sac": SAC,
    "sac-star": partial(SAC, num_critics=1),
}
AGENTS: dict[str, tuple[str, dict[str, float]]] = {
    "RP-BBAC": ("bbac", {"target_smoothing": 5e-3}),
    "BAC": ("bbac", {"target_smoothing": 1.0}),
    "SAC": ("sac", {}),
    "SAC*": ("sac-star", {}),
}
"""The program of each, and the floats that are its own"""


def plan(request: Request) -> Plan:
    """``--methods`` are the agents."""
    refuse("cartpole", request, "tasks", "variants")
    size = size_of(request, FULL)
    names = choose("methods", request.methods, tuple(AGENTS))
    jobs = []
    for program in PROGRAMS:
        rows = [
            Row(name, seed, AGENTS[name][1])
            for name in names
            if AGENTS[name][0] == program
            for seed in range(size.seeds)
        ]
        if rows:
            jobs.append(Job(program, len(rows) * size.steps, partial(run_job, program, rows, size), in_pieces=True))
    return Plan({"size": asdict(size), "agents": list(names)}, "steps", tuple(jobs))


def refuse(study: str, request: Request, *kinds: str) -> None:
    """What a study has no choice of."""
    for kind in kinds:
        if asked := getattr(request, kind):
            raise ValueError(f"--{kind} is {', '.join(asked)}; {study} has no {kind} to choose from, leave it out")


def run_job(program: str, rows: list[Row], size: Size, desk: Desk) -> Arrays:
    return run_rows(PROGRAMS[program], rows, size, desk)
