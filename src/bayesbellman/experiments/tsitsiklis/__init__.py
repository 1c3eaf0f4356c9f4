"""Tsitsiklis' triangle: where TD(0) diverges, and which BBO does not (paper, `fig:spiral_result`)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.tsitsiklis.analysis import analyse
from bayesbellman.experiments.tsitsiklis.expected import cells, expected
from bayesbellman.experiments.tsitsiklis.sweep import plan

ARTEFACT = Artefact(name="tsitsiklis", plan=plan, analyse=analyse, cells=cells, expected=expected, header=("method",))
