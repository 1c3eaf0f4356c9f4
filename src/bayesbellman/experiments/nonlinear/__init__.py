"""Policy evaluation with networks: three tasks, five methods (paper, "Neural Network Function Approximators")."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.nonlinear.analysis import analyse
from bayesbellman.experiments.nonlinear.expected import cells, expected
from bayesbellman.experiments.nonlinear.sweep import plan

ARTEFACT = Artefact(
    name="nonlinear",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("settings", "task", "claim"),
)
"""The figure of the paper's `fig:non-linear-policy-evaluation-ablation-result-full`, as a figure, tables and claims."""
