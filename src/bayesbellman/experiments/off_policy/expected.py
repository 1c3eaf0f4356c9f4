"""The paper prints nothing on the widths of its linear posterior off-policy: there is nothing to hold ours against."""

from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Expected


def expected() -> Mapping[Address, Expected]:
    """No number of the paper."""
    return {}


def cells(folder: Path) -> Mapping[Address, Cell]:
    """So none of ours is asked for; what was measured is in ``curves.csv``."""
    return {}
