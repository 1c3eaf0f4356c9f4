"""Two sparse tasks for which nothing here was tuned, RP-BBAC as it is: where deep exploration helps, what it costs."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.sparse_tasks.analysis import analyse
from bayesbellman.experiments.sparse_tasks.expected import cells, expected
from bayesbellman.experiments.sparse_tasks.sweep import plan

ARTEFACT = Artefact(
    name="sparse-tasks",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("task", "what"),
    options=("steps",),
    source="claims",
)
"""Returns and rewards found on a sparse pendulum and a sparse acrobot."""
