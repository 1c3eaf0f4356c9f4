"""Every lever beside the base: rewards found, first success, final return, and where its first run has been."""

from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Done, Expected, Plan
from bayesbellman.experiments.cartpole.task import paper_task
from bayesbellman.experiments.sparse.outcomes import solved_shares
from bayesbellman.experiments.sparse.study import write_study


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    return write_study(plan, done, folder, "lever", REPORT, paper_task)


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the runs that were solved."""
    return solved_shares(folder, "cartpole-levers")


def expected() -> Mapping[Address, Expected]:
    """The paper has no such study."""
    return {}


REPORT = """# Levers of exploration on the sparse cart-pole

RP-BBAC with one thing changed at a time; `base` is its default recipe. Solved: the mean return of each of the last ten
evaluations is above 500; the final return is the mean over those. A reward is found where a step of training earns the
1; an episode is rewarded if one of its steps does. Medians are over runs, `-` where fewer than half of them came so
far. All runs are in runs.csv, their curves in curves.csv.

{failures}
{table}

{words}

![Returns of every run](returns.png)

![Rewards found, and disagreement](rewards.png)

Where the first run of each has been, and where its members disagree:

{pictures}

## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
"""
