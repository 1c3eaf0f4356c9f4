"""What importance weights do to the exact linear posterior: its error, its widths, how often they hold the truth."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.off_policy.analysis import analyse
from bayesbellman.experiments.off_policy.expected import cells, expected
from bayesbellman.experiments.off_policy.sweep import plan

ARTEFACT = Artefact(
    name="off_policy",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("task", "data"),
)
