"""What is run: RP-BBAC and SAC on five seeds, 500,000 steps, as others have; more agents if asked for."""

from dataclasses import asdict

from bayesbellman.experiments.artefact import Plan, Request, choose, refuse
from bayesbellman.experiments.cartpole.sweep import AGENTS, PROGRAMS
from bayesbellman.experiments.cartpole.task import STOCK
from bayesbellman.experiments.sparse.baseline import SACS
from bayesbellman.experiments.sparse.planning import agent_jobs
from bayesbellman.experiments.sparse.runs import Size, size_of

FULL = Size(seeds=5, steps=500_000)
USUAL = ("RP-BBAC", *SACS)


def plan(request: Request) -> Plan:
    """``--methods`` are the agents."""
    refuse("cartpole-stock", request, "tasks", "variants")
    size = size_of(request, FULL)
    names = choose("methods", request.methods or USUAL, tuple(AGENTS))
    jobs = agent_jobs(PROGRAMS, AGENTS, names, STOCK, size)
    agents = {name: AGENTS[name][1] for name in names}
    return Plan({"size": asdict(size), "agents": agents, "reward": "dm_control"}, "steps", tuple(jobs))
