"""What is run: each lever on three seeds, 500,000 steps, with the paper's networks unless narrow ones are asked for."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from bayesbellman.control.bbac import BBAC
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose
from bayesbellman.experiments.cartpole.task import PAPER
from bayesbellman.experiments.cartpole_levers.levers import LEVERS, NOISY, WARMUP, floats_of, program_of
from bayesbellman.experiments.sparse.planning import cut, refuse
from bayesbellman.experiments.sparse.runs import Row, Size, run_rows, size_of

FULL = Size(seeds=3, steps=500_000)
"""Enough to see who finds rewards, and how often; what solves the task is asked with all of the paper's 3e6."""
WIDTHS = {"narrow": (128, 128), "wide": (256, 256)}


def plan(request: Request) -> Plan:
    """``--methods`` are the levers; ``--variants`` the widths, wide if none is named."""
    refuse("cartpole-levers", request, "tasks")
    size = size_of(request, FULL)
    names = choose("methods", request.methods, tuple(LEVERS))
    widths = choose("variants", request.variants or ("wide",), tuple(WIDTHS))
    programs: dict[tuple, list[str]] = defaultdict(list)
    for name in names:
        programs[program_of(LEVERS[name])].append(name)
    jobs = []
    for width in widths:
        wide = size if request.quick else replace(size, hidden=WIDTHS[width])
        for program, together in programs.items():
            words = [f"{key}-{value}" for key, value in program] or ["usual"]
            for job, levers in cut(".".join([width, *words]), together, size):
                run = partial(run_job, dict(program), levers, wide, f", {width}" if len(widths) > 1 else "")
                jobs.append(Job(job, len(levers) * size.seeds * size.steps, run, in_pieces=True))
    shared = {name: value for name, value in asdict(size).items() if name != "hidden"}  # each width has its own
    settings = {"size": shared, "levers": list(names), "widths": {width: WIDTHS[width] for width in widths}}
    return Plan(settings, "steps", tuple(jobs))


def run_job(program: Mapping[str, Any], levers: Sequence[str], size: Size, suffix: str, desk: Desk) -> Arrays:
    """Levers that share a program, each with every seed."""
    static = {name: value for name, value in program.items() if name not in (NOISY, WARMUP)}
    size = replace(size, warmup=size.warmup * program.get(WARMUP, 1))
    rows = [Row(name + suffix, seed, floats_of(LEVERS[name])) for name in levers for seed in range(size.seeds)]
    return run_rows(partial(BBAC, **static), PAPER, rows, size, desk)
