"""Both tasks, seed by seed: rewards found, successes, and where runs have been."""

from pathlib import Path

from bayesbellman.experiments.artefact import Done, Plan
from bayesbellman.experiments.sparse.study import write_study
from bayesbellman.experiments.sparse_tasks.tasks import TASKS, task_of


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    successes = ", ".join(f"{task.success:g} on the {name}" for name, task in TASKS.items())
    report = REPORT.replace("{successes}", successes)
    return write_study(plan, done, folder, "task and agent", report, task_of)


REPORT = """# Two sparse tasks for which nothing was tuned

RP-BBAC and SAC with every setting as `bbo train` has it, on a sparse pendulum and a sparse acrobot. A success is an
evaluation (ten episodes with the mean action) above {successes}: half of what a controller that knows the physics
earns, rounded up to the next 50. Solved: the last ten evaluations all are; the final return is the mean over those. A
reward is found where a step of training earns the 1; an episode is rewarded if one of its steps does. Medians are over
runs, `-` where fewer than half of them came so far.

{failures}
{table}

{curves}

{seeds}

{words}

Where the first run of each has been, and where its members disagree:

{pictures}

## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
"""
