"""What each quirk of the linear benchmark does to the numbers, one at a time."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.quirks.analysis import analyse
from bayesbellman.experiments.quirks.expected import cells, expected
from bayesbellman.experiments.quirks.sweep import plan

ARTEFACT = Artefact(
    name="quirks", plan=plan, analyse=analyse, cells=cells, expected=expected, header=("quirk", "task", "method")
)
