"""Verdicts: each number of the paper beside ours."""

import json
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bayesbellman.experiments.artefact import Address, Cell, Expected

HEADER = ("paper", "ours", "stderr", "runs", "verdict", "rule")


class Verdict(NamedTuple):
    """One cell judged. ``ok`` is False also where we have no number."""

    address: Address
    row: tuple[object, ...]
    ok: bool


def made_quickly(folder: Path) -> bool:
    """Whether ``--quick`` made what lies there: it is too small to be judged."""
    try:
        made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        return "--quick" in shlex.split(made["command"])
    except (OSError, KeyError, TypeError, ValueError):
        return False  # what is damaged, `cells` has refused


def judge(expected: Mapping[Address, Expected], cells: Mapping[Address, Cell]) -> list[Verdict]:
    """A verdict for every cell that the paper prints."""
    there = {address: wanted for address, wanted in expected.items() if address in cells or not wanted.optional}
    return [_judge(address, wanted, cells.get(address)) for address, wanted in there.items()]


def _judge(address: Address, wanted: Expected, cell: Cell | None) -> Verdict:
    if cell is None:
        return Verdict(address, (wanted.printed, "-", "-", 0, "missing", ""), ok=False)
    agrees, rule = wanted.judge(cell)
    if cell.failed:
        agrees, word = False, f"{cell.failed} runs failed"
    elif not (math.isfinite(cell.stderr) and math.isfinite(cell.spread)):
        agrees, word = False, "too few runs"
    else:
        word = "agrees" if agrees else "differs"
    return Verdict(address, (wanted.printed, f"{cell.mean:.4f}", f"{cell.stderr:.4f}", cell.runs, word, rule), agrees)
