"""What to say of a run in a few words. Every seed that did not end well is named, and n is said with every number."""

from bayesbellman.experiments.training.reading import Run, SeedRun

WELL = ("finished", "solved")
GOING = ("running",)


def verdict(run: Run, last: dict[int, float], median: float | None) -> str:
    """One line. ``last``: the last evaluation of each seed that has a finite one; ``median``: of these."""
    number, solved = len(run.seeds), run.config["run"].get("solved")
    parts = []
    if solved is not None:
        reached = sum(seed.how == "solved" for seed in run.seeds)
        parts.append(f"solved on {reached} of {seeds(number)} (an evaluation of at least {solved:g})")
    else:
        finished = sum(seed.how in WELL for seed in run.seeds)
        parts.append(f"finished on {finished} of {seeds(number)}")
    going = [seed for seed in run.seeds if seed.how in GOING]
    if going:
        parts.append(f"still running: {named(going)}")
    if median is None:
        parts.append("no evaluation yet" if going else "no evaluation")
    elif len(last) == 1:
        parts.append(f"last evaluation {short(median)} (n = 1 seed{_of(1, number)})")
    else:
        spread = f"{short(min(last.values()))} to {short(max(last.values()))}"
        parts.append(
            f"last evaluation: median {short(median)}, from {spread} (n = {seeds(len(last))}{_of(len(last), number)})"
        )
    return "; ".join(parts)


def remarks(run: Run) -> list[str]:
    """On each seed that did not end well."""
    planned = run.config["run"]["steps"]
    lines = []
    for seed in run.seeds:
        if seed.how == "not begun":
            lines.append(f"seed {seed.seed} has not begun")
        elif seed.how not in (*WELL, *GOING):
            lines.append(f"seed {seed.seed} {how_words(seed)} after {seed.steps:,} of {planned:,} steps")
    return lines


def how_words(seed: SeedRun) -> str:
    passive = {"stopped": "was stopped", "interrupted": "was interrupted"}
    return passive.get(seed.how, seed.how)


def named(of: list[SeedRun]) -> str:
    return ", ".join(f"seed {seed.seed} at {seed.steps:,} steps" for seed in of)


def seeds(number: int) -> str:
    return f"{number} seed{'' if number == 1 else 's'}"


def short(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _of(shown: int, number: int) -> str:
    return f" of {number}" if shown < number else ""
