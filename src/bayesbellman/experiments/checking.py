"""Verdicts: each number of the paper beside ours."""

from collections.abc import Mapping
from typing import NamedTuple

from bayesbellman.experiments.artefact import Address, Cell, Expected

HEADER = ("paper", "ours", "stderr", "runs", "verdict", "rule")


class Verdict(NamedTuple):
    """One cell judged. ``ok`` is False also where we have no number."""

    address: Address
    row: tuple[object, ...]
    ok: bool


def judge(expected: Mapping[Address, Expected], cells: Mapping[Address, Cell]) -> list[Verdict]:
    """A verdict for every cell that the paper prints."""
    return [_judge(address, wanted, cells.get(address)) for address, wanted in expected.items()]


def _judge(address: Address, wanted: Expected, cell: Cell | None) -> Verdict:
    if cell is None:
        return Verdict(address, (wanted.printed, "-", "-", 0, "missing", wanted.rule), ok=False)
    ok = cell.runs > 0 and cell.failed == 0 and bool(wanted.agrees(cell))
    word = "agrees" if ok else f"{cell.failed} runs failed" if cell.failed else "differs"
    numbers = (f"{cell.mean:.4f}", f"{cell.stderr:.4f}")
    return Verdict(address, (wanted.printed, *numbers, cell.runs, word, wanted.rule), ok)
