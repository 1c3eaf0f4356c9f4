"""Tables of a comparison, and the folder that holds them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.experiments.comparing.drawing import draw
from bayesbellman.experiments.comparing.grouping import Comparison
from bayesbellman.experiments.comparing.values import Settled
from bayesbellman.experiments.statistics import (
    bootstrap_interval,
    improvement_interval,
    interquartile_mean,
    probability_of_improvement,
)
from bayesbellman.runs.folder import shown
from bayesbellman.runs.tables import aligned, markdown, write_csv

FIGURE, TABLE, IMPROVEMENT, SEEDS, REPORT = (
    "comparison.png",
    "comparison.csv",
    "improvement.csv",
    "seeds.csv",
    "report.md",
)
HEADER = ("run", "environment", "n of N", "final IQM", "95 %", "mean over steps, IQM", "95 % ")
PAIRS = ("run", "against", "probability of improvement", "95 %")
EACH = ("run", "environment", "seed", "ended", "steps", "final", "mean_over_steps", "remark", "folder")


UNKNOWN = (float("nan"), float("nan"))


class Interval(NamedTuple):
    """An estimate with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    @property
    def ends(self) -> str:
        """``-``: one seed has no interval"""
        return f"{self.low:.4g} to {self.high:.4g}" if np.isfinite(self.low) else "-"


class Pair(NamedTuple):
    """How probable it is that a run of the one is better than one of the other, at the end."""

    label: str
    other: str
    found: Interval


def iqm(strata: Sequence[Float[np.ndarray, " _"]]) -> Interval:
    middle = interquartile_mean(np.concatenate(list(strata)))
    return Interval(middle, *(bootstrap_interval(list(strata)) if _several(strata) else UNKNOWN))


def _several(strata: Sequence[Float[np.ndarray, " _"]]) -> bool:
    """Whether there are seeds to be drawn again: of one alone every draw is the same."""
    return all(len(seeds) > 1 for seeds in strata)


def pairs(settled: Settled) -> list[Pair]:
    """All of them, both ways."""
    final = {label: settled.strata(label, "final") for label in settled.labels}
    return [
        Pair(
            a,
            b,
            Interval(
                probability_of_improvement(x, y),
                *(improvement_interval(x, y) if _several([*x, *y]) else UNKNOWN),
            ),
        )
        for a, x in final.items()
        for b, y in final.items()
        if a != b
    ]


def table(settled: Settled) -> list[tuple]:
    """A row for each contender; with several environments, a row for each of them too."""
    rows = []
    envs = list(settled.spans)
    for label in settled.labels:
        final, area = settled.strata(label, "final"), settled.strata(label, "area")
        missing = settled.missing[label]
        parts = [("all", slice(None), len(missing))] if len(envs) > 1 else []
        parts += [(env, slice(k, k + 1), sum(one.seed.env == env for one in missing)) for k, env in enumerate(envs)]
        for name, part, gone in parts:
            there = sum(len(stratum) for stratum in final[part])
            end, mean = iqm(final[part]), iqm(area[part])
            rows.append((label, name, f"{there} of {there + gone}", end.value, end.ends, mean.value, mean.ends))
    return rows


def each_seed(settled: Settled) -> list[tuple]:
    rows = []
    for label in settled.labels:
        for env in settled.spans:
            rows += [
                (label, env, one.seed.seed, one.seed.how, one.seed.curve.steps, one.final, one.area, one.remark,
                 shown(one.seed.folder))
                for one in settled.scored[label][env]
            ]  # fmt: skip
        rows += [
            (label, one.seed.env, one.seed.seed, one.seed.how, one.seed.curve.steps, "", "", f"left out: {one.why}",
             shown(one.seed.folder))
            for one in settled.missing[label]
        ]  # fmt: skip
    return rows


def rules(comparison: Comparison, settled: Settled) -> list[str]:
    """What was compared, and by which rules."""
    lines = [
        f"{env}: compared from {int(span.steps[0]):,} to {span.last:,} steps, {settled.why_last}"
        for env, span in settled.spans.items()
    ]
    return [*lines, *comparison.remarks, *settled.rules]


def write_comparison(comparison: Comparison, settled: Settled, folder: Path) -> str:
    """Figure, tables and a page with them; returns what to print."""
    found, rows, seeds = pairs(settled), table(settled), each_seed(settled)
    couples = [(pair.label, pair.other, pair.found.value, pair.found.ends) for pair in found]
    write_csv(folder / TABLE, HEADER, rows)
    write_csv(folder / IMPROVEMENT, PAIRS, couples)
    write_csv(folder / SEEDS, EACH, seeds)
    draw(settled, {(pair.label, pair.other): pair.found for pair in found}).savefig(folder / FIGURE)
    said = rules(comparison, settled)
    short = [row[:-1] for row in seeds]
    page = PAGE.format(
        figure=FIGURE,
        rules="\n".join(f"- {line}" for line in said),
        table=markdown(HEADER, rows),
        pairs=markdown(PAIRS, couples) if couples else "There is one run only.",
        seeds=markdown(EACH[:-1], short),
    )
    (folder / REPORT).write_text(page, encoding="utf-8")
    parts = [aligned(HEADER, rows)]
    parts += [aligned(PAIRS, couples)] if couples else []
    parts += [_listed(settled), "\n".join(said)]
    return "\n\n".join(parts)


def _listed(settled: Settled) -> str:
    """Every seed's final return, and what is to be said of it."""
    lines = []
    for label in settled.labels:
        for env in settled.spans:
            scored = settled.scored[label][env]
            lines.append(f"{label} on {env}, final: " + ", ".join(f"seed {s.seed.seed} {s.final:.4g}" for s in scored))
            lines += [f"  seed {one.seed.seed} {one.remark}" for one in scored if one.remark]
        lines += [f"  {one.seed.name} is left out: {one.why}" for one in settled.missing[label]]
    return "\n".join(lines)


PAGE = """# Comparison

![Learning curves, final returns and probabilities of improvement]({figure})

IQM: interquartile mean, of the middle half of seeds. Intervals are 95 % percentile bootstrap intervals over seeds,
stratified by environment; with fewer than ten seeds they are too narrow. Bands are the same at each step. A probability
of improvement is the share of pairs of seeds of which the first is better at the end; ties count half.

{rules}

{table}

{pairs}

## All seeds

{seeds}
"""
