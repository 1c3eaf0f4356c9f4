"""The numbers of each seed, by one rule for all: where it is compared, and what stands for what is not there."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.experiments.comparing.grouping import Comparison, Contender, Seed

Failed = Literal["worst", "last", "drop"]
Bounds = Mapping[str, tuple[float, float]]
BROKEN = ("diverged", "failed")
RULES = {
    "worst": "a seed that diverged or failed counts as the lowest evaluation of anybody there, from then on",
    "last": "a seed that diverged or failed counts with its last evaluation, from then on",
    "drop": "seeds that diverged or failed are left out",
}
SOLVED = "a seed that stopped because it was solved keeps its last evaluation"


class Scored(NamedTuple):
    """A seed with its numbers."""

    seed: Seed
    curve: Float[np.ndarray, " T"]
    """At the steps of its environment's `Span`"""
    final: float
    area: float
    """Mean of the curve over steps"""
    remark: str = ""
    """What was put in place of missing evaluations"""


class Missing(NamedTuple):
    """A seed without numbers, and why."""

    seed: Seed
    why: str


class Span(NamedTuple):
    """The steps at which seeds on an environment are compared: from the first that all have to the last."""

    steps: Float[np.ndarray, " T"]
    worst: float
    """The lowest evaluation of anybody up to the last step"""

    @property
    def last(self) -> int:
        return int(self.steps[-1])


class Settled(NamedTuple):
    """A comparison with its numbers, by contender and environment."""

    labels: tuple[str, ...]
    spans: dict[str, Span]
    scored: dict[str, dict[str, list[Scored]]]
    missing: dict[str, list[Missing]]
    rules: tuple[str, ...]
    why_last: str
    """Why they are compared where they are"""

    def strata(self, label: str, of: Literal["final", "area"]) -> list[Float[np.ndarray, " _"]]:
        return [np.array([getattr(one, of) for one in self.scored[label][env]]) for env in self.spans]


def settle(
    comparison: Comparison, *, at: int | None = None, failed: Failed = "worst", bounds: Bounds | None = None
) -> Settled:
    """``at``: compare at this step, without seeds that ended before; else at the last that all have.

    ``bounds``: by environment, what becomes 0 and what 1.
    """
    contenders = [_within(contender, comparison.envs, bounds) for contender in comparison.contenders]
    missing = {contender.label: _missing(contender, at, failed) for contender in contenders}
    gone = {id(one.seed) for found in missing.values() for one in found}
    spans, scored = {}, {contender.label: {} for contender in contenders}
    for env in comparison.envs:
        left = {c.label: [seed for seed in c.on(env) if id(seed) not in gone] for c in contenders}
        for label, seeds in left.items():
            if not seeds:
                why = "; ".join(f"{one.seed.name}: {one.why}" for one in missing[label] if one.seed.env == env)
                raise ValueError(f"RUN: {label} has no seed to compare on {env} ({why})")
        spans[env] = span = _span(env, [seed for seeds in left.values() for seed in seeds], at)
        for label, seeds in left.items():
            scored[label][env] = [_score(seed, span, failed) for seed in seeds]
    scales = [f"normalised: {env} from {low:g} to {high:g} is 0 to 1" for env, (low, high) in (bounds or {}).items()]
    if bounds is None and len(spans) > 1:
        scales = ["returns are not normalised: the environment with the larger returns weighs more"]
    rules = (RULES[failed], SOLVED, *scales)
    why_last = "the last that all have" if at is None else "as asked for"
    return Settled(tuple(c.label for c in contenders), spans, scored, missing, rules, why_last)


def _within(contender: Contender, envs: Sequence[str], bounds: Bounds | None) -> Contender:
    """Without the environments that are not compared; normalised."""
    seeds = [seed for seed in contender.seeds if seed.env in envs]
    if bounds is not None:
        for env in envs:
            if env not in bounds:
                raise ValueError(f"--normalise has no bounds of {env}; add {env}=MIN:MAX")
        scale = {env: (low, high - low) for env, (low, high) in bounds.items()}
        seeds = [
            seed._replace(
                curve=seed.curve._replace(
                    evaluations=(seed.curve.evaluations - scale[seed.env][0]) / scale[seed.env][1]
                )
            )
            for seed in seeds
        ]
    return contender._replace(seeds=tuple(seeds))


def _missing(contender: Contender, at: int | None, failed: Failed) -> list[Missing]:
    found = []
    for seed in contender.seeds:
        evaluated = seed.curve.evaluated
        if seed.how in BROKEN and (failed == "drop" or (failed == "last" and not len(evaluated))):
            found.append(Missing(seed, f"{seed.how} after {seed.curve.steps:,} steps"))
        elif seed.how not in BROKEN and not len(evaluated):
            found.append(Missing(seed, f"{seed.how}, without an evaluation"))
        elif at is not None and not _goes_on(seed) and evaluated[-1] < at:
            found.append(Missing(seed, f"{seed.how}, last evaluated after {int(evaluated[-1]):,} steps"))
    return found


def _goes_on(seed: Seed) -> bool:
    """Whether something stands for it after its end."""
    return seed.how in (*BROKEN, "solved")


def _span(env: str, seeds: Sequence[Seed], at: int | None) -> Span:
    evaluated = [seed for seed in seeds if len(seed.curve.evaluated)]
    if not evaluated:
        raise ValueError(f"RUN: nobody was evaluated on {env}")
    ends = [int(seed.curve.evaluated[-1]) for seed in evaluated if not _goes_on(seed)]
    if not ends:  # all were solved or broke: up to the last of them
        ends = [max(int(seed.curve.evaluated[-1]) for seed in evaluated)]
    last = at if at is not None else min(ends)
    latest = max(evaluated, key=lambda seed: seed.curve.evaluated[0])
    first = int(latest.curve.evaluated[0])
    if first > last:
        raise ValueError(
            f"there is no step at which all can be compared on {env}: seed {latest.seed} in {latest.folder} was first"
            f" evaluated after {first:,} steps, and the comparison is at {last:,};"
            " --at STEPS compares later, without seeds that ended before"
        )
    steps = np.unique(np.concatenate([seed.curve.evaluated for seed in evaluated]))
    steps = np.unique([first, *steps[(steps >= first) & (steps <= last)], last]).astype(float)
    values = np.concatenate([seed.curve.evaluations[seed.curve.evaluated <= last] for seed in evaluated])
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise ValueError(f"RUN: no evaluation on {env} up to {last:,} steps is finite")
    return Span(steps, float(finite.min()))


def _score(seed: Seed, span: Span, failed: Failed) -> Scored:
    """On the straight lines between its evaluations."""
    own, steps, remark = seed.curve, span.steps, ""
    bad = ~np.isfinite(own.evaluations)
    values = np.where(bad, span.worst, own.evaluations)
    if np.any(bad & (own.evaluated <= span.last)):
        remark = f"evaluations that are not finite count as {span.worst:.4g}"
    if not len(values):
        curve = np.full(len(steps), span.worst)
        remark = f"{seed.how} before its first evaluation: counts as {span.worst:.4g}"
    else:
        curve = np.interp(steps, own.evaluated, values)
        after = steps > own.evaluated[-1]
        if after.any() and seed.how in BROKEN:
            curve = np.where(after, span.worst, curve) if failed == "worst" else curve
            remark = f"{seed.how} after {own.steps:,} steps: then counts as {curve[-1]:.4g}"
        elif after.any():
            remark = f"{seed.how} after {own.steps:,} steps: then counts as {curve[-1]:.4g}"
    return Scored(seed, curve, float(curve[-1]), _mean_over(steps, curve), remark)


def _mean_over(steps: Float[np.ndarray, " T"], curve: Float[np.ndarray, " T"]) -> float:
    if len(steps) == 1:
        return float(curve[0])
    return float(np.trapezoid(curve, steps) / (steps[-1] - steps[0]))
