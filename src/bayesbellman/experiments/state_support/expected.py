"""The paper shows pictures; what can be counted in them is how much of the state space each agent has been to."""

from collections.abc import Mapping

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement

COVERS = "covers more states than SAC"


def expected() -> Mapping[Address, Expected]:
    def more(cell: Cell) -> Judgement:
        return Judgement(cell.mean >= 2.0, "at least twice the cells of a 40 x 40 grid that SAC has been to")

    return {("RP-BBAC", COVERS): Expected("yes", more), ("BAC", COVERS): Expected("yes", more)}
