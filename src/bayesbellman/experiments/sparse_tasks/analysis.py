"""Both tasks, seed by seed: rewards found, successes, and where runs have been."""

from pathlib import Path

from bayesbellman.experiments.artefact import Done, Plan
from bayesbellman.experiments.sparse.study import MEDIANS, RECIPE_OF_ONE, REWARDED, TABLE, paragraph, write_study
from bayesbellman.experiments.sparse_tasks.tasks import TASKS, task_of


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    successes = ", ".join(f"{task.success:g} on the {name}" for name, task in TASKS.items())
    report = [part.replace("{successes}", successes) for part in REPORT]
    return write_study(plan, done, folder, "task and agent", report, task_of)


REPORT = (
    "# Two sparse tasks for which nothing was tuned",
    paragraph(
        "RP-BBAC and SAC with every setting as `bbo train` has it, on a sparse pendulum and a sparse acrobot; SAC also",
        "with RP-BBAC's learning rate.",
        RECIPE_OF_ONE,
        "A success is an evaluation (ten episodes with the mean action) above {successes}: half of what a controller",
        "that knows the physics earns, rounded up to the next 50.",
        "Solved: the last ten evaluations all are; the final return is the mean over those.",
        REWARDED,
        MEDIANS,
    ),
    TABLE,
    "{curves}",
    "{seeds}",
)
