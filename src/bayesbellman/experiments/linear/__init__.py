"""The paper's linear experiments: nine tasks, seven methods, two tables and a figure (appendix "Linear BBO")."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.linear.analysis import analyse
from bayesbellman.experiments.linear.cells import published_cells
from bayesbellman.experiments.linear.expected import expected
from bayesbellman.experiments.linear.sweep import plan

ARTEFACT = Artefact(
    name="linear",
    plan=plan,
    analyse=analyse,
    cells=published_cells,
    expected=expected,
    header=("table", "task", "method"),
)
