"""What is run: each lever on three seeds, 500,000 steps, with the paper's networks and rates unless others are asked
for."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

from bayesbellman.control.bbac import BBAC, RECIPES
from bayesbellman.experiments.artefact import Arrays, Desk, Job, Plan, Request, choose, refuse
from bayesbellman.experiments.cartpole.task import PAPER
from bayesbellman.experiments.cartpole_levers.levers import LEVERS, NOISY, WARMUP, floats_of, program_of
from bayesbellman.experiments.sparse.planning import cut
from bayesbellman.experiments.sparse.runs import Row, Size, run_rows, size_of

FULL = Size(seeds=3, steps=500_000)
"""Enough to see who finds rewards, and how often; what solves the task is asked with all of the paper's 3e6."""
WIDTHS = {"narrow": (128, 128), "wide": (256, 256)}


class Variant(NamedTuple):
    """What all levers have."""

    hidden: tuple[int, int]
    base: Mapping[str, float]
    """Where it differs from `USUAL`"""


VARIANTS = {
    "narrow": Variant(WIDTHS["narrow"], {}),
    "wide": Variant(WIDTHS["wide"], {}),
    "ours": Variant(WIDTHS["wide"], RECIPES["ours"]),
}


def plan(request: Request) -> Plan:
    """``--methods`` are the levers; ``--variants`` what all of them have, wide networks if none is named."""
    refuse("cartpole-levers", request, "tasks")
    size = size_of(request, FULL)
    names = choose("methods", request.methods, tuple(LEVERS))
    variants = choose("variants", request.variants or ("wide",), tuple(VARIANTS))
    jobs, levers_of = [], {}
    for variant in variants:
        hidden, base = VARIANTS[variant]
        levers_of[variant] = distinct(names, base)
        if len(levers_of[variant]) < len(names) and request.methods:
            same = ", ".join(repr(name) for name in names if name not in levers_of[variant])
            raise ValueError(f"--methods: in the variant {variant} {same} changes nothing, or what another does")
        programs: dict[tuple, list[str]] = defaultdict(list)
        for name in levers_of[variant]:
            programs[program_of(LEVERS[name])].append(name)
        sized = size if request.quick else replace(size, hidden=hidden)
        for program, together in programs.items():
            words = [f"{key}-{value}" for key, value in program] or ["usual"]
            for job, levers in cut(".".join([variant, *words]), together, size):
                suffix = f", {variant}" if len(variants) > 1 else ""
                run = partial(run_job, dict(program), levers, base, sized, suffix)
                jobs.append(Job(job, len(levers) * size.seeds * size.steps, run, in_pieces=True))
    shared = {name: value for name, value in asdict(size).items() if name != "hidden"}  # each variant has its own
    here = {name: VARIANTS[name]._asdict() for name in variants}
    return Plan({"size": shared, "levers": levers_of, "variants": here}, "steps", tuple(jobs))


def distinct(names: Sequence[str], base: Mapping[str, float]) -> list[str]:
    """Those that differ from each other: some levers are in the base of another variant already."""
    found: dict[tuple, str] = {}
    for name in names:
        lever = LEVERS[name]
        found.setdefault((program_of(lever), tuple(floats_of(lever, base).items())), name)
    return list(found.values())


def run_job(
    program: Mapping[str, Any], levers: Sequence[str], base: Mapping[str, float], size: Size, suffix: str, desk: Desk
) -> Arrays:
    """Levers that share a program, each with every seed."""
    static = {name: value for name, value in program.items() if name not in (NOISY, WARMUP)}
    size = replace(size, warmup=size.warmup * program.get(WARMUP, 1))
    rows = [Row(name + suffix, seed, floats_of(LEVERS[name], base)) for name in levers for seed in range(size.seeds)]
    return run_rows(partial(BBAC, **static), PAPER, rows, size, desk)
