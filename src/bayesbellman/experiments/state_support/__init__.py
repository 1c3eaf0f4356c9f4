"""What agents have seen of MountainCar, and what they think of it (paper, `fig:state_support` and its appendix)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.state_support.analysis import analyse, cells
from bayesbellman.experiments.state_support.expected import expected
from bayesbellman.experiments.state_support.sweep import plan

ARTEFACT = Artefact(
    name="state-support", plan=plan, analyse=analyse, cells=cells, expected=expected, header=("agent", "claim")
)
"""The paper's three diagnostic figures."""
