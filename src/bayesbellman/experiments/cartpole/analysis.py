"""Learning curves with every seed, rewards found over time, and who solved it."""

from pathlib import Path

from bayesbellman.experiments.artefact import Done, Plan
from bayesbellman.experiments.cartpole.task import paper_task
from bayesbellman.experiments.sparse.study import write_study


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    return write_study(plan, done, folder, "agent", REPORT, paper_task)


REPORT = """# Sparse cart-pole

Mean-action returns of the policy that was learnt. Solved: the mean return of each of the last ten evaluations is above
500; the final return is the mean over those. A reward is found where a step of training earns the 1; an episode is
rewarded if one of its steps does. Medians are over runs, `-` where fewer than half of them came so far. All runs are in
runs.csv, their curves in curves.csv.

![Returns of every run](returns.png)

![Rewards found, and disagreement](rewards.png)

{failures}
{table}

{words}

Where the first run of each has been, and where its members disagree:

{pictures}

## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
"""
