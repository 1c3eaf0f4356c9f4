"""The sparse cart-pole swing-up: who finds the reward, and who keeps it (paper, `fig:bbac-results:cartpole`)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.cartpole.analysis import analyse
from bayesbellman.experiments.cartpole.expected import cells, expected
from bayesbellman.experiments.cartpole.sweep import plan

ARTEFACT = Artefact(
    name="cartpole",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("agent",),
    options=("steps",),
)
"""Learning curves of agents."""
