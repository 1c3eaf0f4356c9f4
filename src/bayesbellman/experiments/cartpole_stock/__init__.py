"""The cart-pole with the Control Suite's own sparse reward, for which others have published results."""

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.cartpole_stock.analysis import analyse
from bayesbellman.experiments.cartpole_stock.expected import cells, expected
from bayesbellman.experiments.cartpole_stock.sweep import plan

ARTEFACT = Artefact(
    name="cartpole-stock",
    plan=plan,
    analyse=analyse,
    cells=cells,
    expected=expected,
    header=("agent", "what"),
    options=("steps",),
    source="claims",
)
"""Seed by seed, beside what is published."""
