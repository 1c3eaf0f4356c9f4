"""What is changed of RP-BBAC's ensemble and prior, one number at a time: of every study of sensitivity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bayesbellman.experiments.artefact import Request, choose
from bayesbellman.experiments.sparse.planning import Sized, cut

MEMBERS, SCALE, WEIGHT = "members", "prior scale", "prior weight"
Change = tuple[str, float]
"""What is changed, and to what"""
Found = TypeVar("Found")


def group_name(axis: str, value: float) -> str:
    return f"{axis} {value:g}"


@dataclass(frozen=True)
class Ranges:
    """Of a task: the paper's numbers, and what they are changed to."""

    paper: Mapping[str, float]
    axes: Mapping[str, tuple[float, ...]]
    """The paper's value is in each: those runs, called by the number of members, are made once."""

    def jobs(self, axes: Sequence[str], size: Sized, most: int) -> list[tuple[str, Sequence[Change]]]:
        """Changes that are made together. Scales and weights are floats and share a program, in jobs of at most so
        many steps; each number of members has a program of its own."""
        changes = [(axis, value) for axis in axes for value in self.axes[axis] if value != self.paper[axis]]
        floats = [(MEMBERS, self.paper[MEMBERS]), *(change for change in changes if change[0] != MEMBERS)]
        programs = [(f"members.{value:g}", [(axis, value)]) for axis, value in changes if axis == MEMBERS]
        return [*cut("prior", floats, size, most), *programs]

    def members(self, change: Change) -> int:
        return int({**self.paper, change[0]: change[1]}[MEMBERS])

    def floats(self, change: Change) -> dict[str, float]:
        """Of the agent, all else than the number of members."""
        here = {**self.paper, change[0]: change[1]}
        return {"prior_scale": here[SCALE], "prior_weight": here[WEIGHT]}

    def name(self, axis: str, value: float) -> str:
        """Of the group of runs with that value; the paper's own are the same runs on every axis."""
        return group_name(*((MEMBERS, self.paper[MEMBERS]) if value == self.paper[axis] else (axis, value)))

    def along(self, axis: str, groups: Mapping[str, Found]) -> dict[float, Found]:
        """By value: what there is of a change."""
        found = {value: groups.get(self.name(axis, value)) for value in self.axes[axis]}
        return {value: here for value, here in found.items() if here is not None}


def one_width(study: str, request: Request, widths: Mapping[str, tuple[int, ...]]) -> str:
    """``--variants`` of such a study: wide if none is named."""
    (width, *more) = choose("variants", request.variants or ("wide",), tuple(widths))
    if more:
        raise ValueError(f"--variants: {study} has one width at a time, {' or '.join(widths)}")
    return width
