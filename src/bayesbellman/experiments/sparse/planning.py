"""How agents and seeds become jobs, and what a study refuses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bayesbellman.control.base import AbstractAgent
from bayesbellman.experiments.artefact import Job, Request
from bayesbellman.experiments.sparse.runs import Row, Size, run_rows
from bayesbellman.experiments.sparse.task import Task

Programs = Mapping[str, Callable[..., AbstractAgent]]
Agents = Mapping[str, tuple[str, Mapping[str, float]]]
"""The program of each, and the floats that are its own: agents that differ in floats share a program"""


def agent_jobs(
    programs: Programs, agents: Agents, names: Sequence[str], task: Task, size: Size, several: bool = False
) -> list[Job]:
    """A job for each program: the agents of these names that have it, each with every seed. Where there are
    ``several`` tasks, jobs and groups are called by theirs too."""
    jobs = []
    for program, agent in programs.items():
        rows = [
            Row(f"{task.name}, {name}" if several else name, seed, agents[name][1])
            for name in names
            if agents[name][0] == program
            for seed in range(size.seeds)
        ]
        if rows:
            name = f"{task.name}.{program}" if several else program
            run = partial(run_rows, agent, task, rows, size)
            jobs.append(Job(name, len(rows) * size.steps, run, in_pieces=True))
    return jobs


def refuse(study: str, request: Request, *kinds: str) -> None:
    """What a study has no choice of."""
    for kind in kinds:
        if asked := getattr(request, kind):
            raise ValueError(f"--{kind} is {', '.join(asked)}; {study} has no {kind} to choose from, leave it out")
