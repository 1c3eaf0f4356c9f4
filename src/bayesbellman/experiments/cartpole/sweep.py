"""What is run: each agent on five seeds, 3e6 steps. Agents that differ in floats share a program; more if asked for."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.control.sac import SAC
from bayesbellman.experiments.artefact import Plan, Request, choose
from bayesbellman.experiments.cartpole.task import PAPER
from bayesbellman.experiments.sparse.planning import agent_jobs, refuse
from bayesbellman.experiments.sparse.runs import Size, size_of

PRIOR_SCALE = 32.0
FULL = Size(seeds=5)
PROGRAMS: dict[str, Callable[..., AbstractAgent]] = {
    "bbac": partial(BBAC, prior_scale=PRIOR_SCALE),
    "sac": SAC,
    "sac-star": partial(SAC, num_critics=1),
}
AGENTS: dict[str, tuple[str, dict[str, float]]] = {
    "RP-BBAC": ("bbac", {"target_smoothing": 5e-3, **RECIPES["ours"]}),
    "BAC": ("bbac", {"target_smoothing": 1.0, **RECIPES["ours"]}),
    "SAC": ("sac", {"learning_rate": 3e-4}),
    "SAC*": ("sac-star", {}),
    "RP-BBAC, paper's recipe": ("bbac", {"target_smoothing": 5e-3, **RECIPES["paper"]}),
    "SAC, learning rate 0.001": ("sac", {"learning_rate": 1e-3}),
}
"""The program of each, and the floats that are its own"""
USUAL = ("RP-BBAC", "BAC", "SAC", "SAC*")
"""The paper's; the others if they are asked for"""


def plan(request: Request) -> Plan:
    """``--methods`` are the agents."""
    refuse("cartpole", request, "tasks", "variants")
    size = size_of(request, FULL)
    names = choose("methods", request.methods or USUAL, tuple(AGENTS))
    jobs = agent_jobs(PROGRAMS, AGENTS, names, PAPER, size)
    return Plan({"size": asdict(size), "agents": list(names)}, "steps", tuple(jobs))
