"""The search for settings of the non-linear methods, by the paper's protocol on the paper's grids."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.nonlinear_tuning.analysis import analyse
from bayesbellman.experiments.nonlinear_tuning.sweep import plan

ARTEFACT = Artefact(
    name="nonlinear_tuning",
    plan=plan,
    analyse=analyse,
    cells=lambda folder: {},
    expected=lambda: {},  # the paper prints what it chose, not how the others did
    header=("task", "method"),
)
"""``bbo tune nonlinear``."""
