"""How agents and seeds become jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar, runtime_checkable

from bayesbellman.control.base import AbstractAgent
from bayesbellman.experiments.artefact import Job
from bayesbellman.experiments.sparse.runs import Row, Size, run_rows
from bayesbellman.experiments.sparse.task import Task

JOB_STEPS, SAC_JOB_STEPS = 15_000_000, 60_000_000
"""Of all runs of a job together, at most, where it has several groups: finished jobs are kept and can be carried. One
NVIDIA H200 takes some ten minutes for so many; with more jobs it has fewer runs at a time, and is slower."""

Group = TypeVar("Group")


@runtime_checkable
class Sized(Protocol):
    """How much is run of each group"""

    @property
    def seeds(self) -> int: ...
    @property
    def steps(self) -> int: ...


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
        here = [name for name in names if agents[name][0] == program]
        most = SAC_JOB_STEPS if program.startswith("sac") else JOB_STEPS
        for job, groups in cut(f"{task.name}.{program}" if several else program, here, size, most):
            rows = [
                Row(f"{task.name}, {name}" if several else name, seed, agents[name][1])
                for name in groups
                for seed in range(size.seeds)
            ]
            run = partial(run_rows, agent, task, rows, size)
            jobs.append(Job(job, len(rows) * size.steps, run, in_pieces=True))
    return jobs


def cut(job: str, groups: Sequence[Group], size: Sized, steps: int = JOB_STEPS) -> list[tuple[str, Sequence[Group]]]:
    """Groups of runs that could be one job, as few jobs of about one size that have at most so many ``steps`` each."""
    most = max(1, steps // (size.seeds * size.steps))
    number = -(-len(groups) // most)
    ends = [k * len(groups) // max(1, number) for k in range(number + 1)]
    parts = [groups[begin:end] for begin, end in pairwise(ends)]
    return [(job if number == 1 else f"{job}-{k}", part) for k, part in enumerate(parts, 1)]
