"""Every seed beside what is published: first reward, first success, final return."""

from pathlib import Path

from bayesbellman.experiments.artefact import Done, Plan
from bayesbellman.experiments.cartpole.task import STOCK
from bayesbellman.experiments.cartpole_stock.published import PUBLISHED
from bayesbellman.experiments.sparse.outcomes import SEED_HEADER, seed_rows
from bayesbellman.experiments.sparse.study import FILES, MEDIANS, RECIPE, TABLE, paragraph, runs_of, write_study
from bayesbellman.experiments.sparse.task import Task
from bayesbellman.runs.tables import aligned, markdown


def stock_task(job: str) -> Task:
    """The task of every job here."""
    return STOCK


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    published = markdown(("method", "returns after 500,000 steps", "source"), PUBLISHED)
    report = [part.replace("{published}", published) for part in REPORT]
    said = write_study(plan, done, folder, "agent", report, stock_task)
    seeds = aligned(("agent", *SEED_HEADER), seed_rows(runs_of(plan, done, stock_task)))
    return f"{seeds}\n\n{said}"


REPORT = (
    """# The cart-pole with the Control Suite's own sparse reward

A step earns 1 where the cart is within 0.25 of the middle and the cosine of the pole's angle is 0.995 or more; pushing
costs nothing. Episodes have 1,000 steps of 0.01 seconds, and an action is chosen at each. Evaluations play ten episodes
with the mean action.

Seed by seed: the step of the first reward in training, the episodes of training with a reward, the step of the first
evaluation above 500, whether the last ten evaluations all are, their mean, and the best evaluation.

{seeds}

## Published

Not measured here, and not quite the same task: TD-MPC2 and DreamerV3 choose an action at every second step (action
repeat 2, in the code beside which the results are). Steps are of the physics, as ours are. Each number is a seed's, or
the least and the most of several.

{published}

## By agent""",
    paragraph(RECIPE, MEDIANS, FILES),
    TABLE,
    "{curves}",
)
