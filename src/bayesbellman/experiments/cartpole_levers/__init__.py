"""What makes RP-BBAC explore the sparse cart-pole, and what does not: one lever at a time (not in the paper)."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.cartpole_levers.analysis import analyse, cells, expected
from bayesbellman.experiments.cartpole_levers.sweep import plan

ARTEFACT = Artefact(
    name="cartpole-levers",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("lever",),
    options=("steps",),
)
"""Rewards found, first success and final return, lever by lever."""
