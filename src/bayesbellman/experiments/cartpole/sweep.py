"""What is run: each agent on five seeds, 3e6 steps. Agents that differ in floats share a program; more if asked for."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.control.sac import SAC
from bayesbellman.experiments.artefact import Plan, Request, choose, refuse
from bayesbellman.experiments.cartpole.task import PAPER
from bayesbellman.experiments.sparse.baseline import SACS
from bayesbellman.experiments.sparse.planning import agent_jobs
from bayesbellman.experiments.sparse.runs import Size, size_of

PRIOR_SCALE = 32.0
PAPERS, SIXTEEN = "RP-BBAC, paper's recipe", "RP-BBAC, 16 members"
FULL = Size(seeds=5)
PROGRAMS: dict[str, Callable[..., AbstractAgent]] = {
    "bbac": partial(BBAC, prior_scale=PRIOR_SCALE),
    "bbac-16": partial(BBAC, prior_scale=PRIOR_SCALE, ensemble_size=16),
    "sac": SAC,
    "sac-star": partial(SAC, num_critics=1),
}
AGENTS: dict[str, tuple[str, dict[str, float]]] = {
    "RP-BBAC": ("bbac", {"target_smoothing": 5e-3, **RECIPES["ours"]}),
    "BAC": ("bbac", {"target_smoothing": 1.0, **RECIPES["ours"]}),
    **SACS,
    "SAC*": ("sac-star", {"learning_rate": RECIPES["paper"]["learning_rate"]}),
    PAPERS: ("bbac", {"target_smoothing": 5e-3, **RECIPES["paper"]}),
    SIXTEEN: ("bbac-16", {"target_smoothing": 5e-3, **RECIPES["ours"]}),
}
"""The program of each, and the floats that are its own"""
USUAL = tuple(name for name in AGENTS if name not in (PAPERS, SIXTEEN))
"""The paper's four, and SAC with our learning rate; if asked for, RP-BBAC as the paper has it and with more members"""


def plan(request: Request) -> Plan:
    """``--methods`` are the agents."""
    refuse("cartpole", request, "tasks", "variants")
    size = size_of(request, FULL)
    names = choose("methods", request.methods or USUAL, tuple(AGENTS))
    jobs = agent_jobs(PROGRAMS, AGENTS, names, PAPER, size)
    agents = {name: AGENTS[name][1] for name in names}
    return Plan({"size": asdict(size), "agents": agents}, "steps", tuple(jobs))
