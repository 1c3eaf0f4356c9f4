"""What blocks are made from: tables and facts below results/."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "results"
Row = dict[str, str]
"""Of a table, by its header"""


def table_of(path: Path) -> list[Row]:
    """Of a table with a header."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def facts(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def head(columns: Sequence[str]) -> list[str]:
    """The first two lines of a table in Markdown."""
    return [line(columns), "|" + "---|" * len(columns)]


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def runs_in_a_cell(runs: Iterable[str]) -> str:
    """What each run has, in order. Lines of narrow columns break after a slash, not before it."""
    return "\N{NO-BREAK SPACE}/ ".join(runs)


def shown(row: Mapping[str, Any], columns: Iterable[str], form: str = ".3g") -> list[str]:
    """Cells of a benchmark's row: floats in ``form``, all else as it is."""
    return [f"{row[name]:{form}}" if isinstance(row[name], float) else f"{row[name]}" for name in columns]


def measured(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], form: str = ".3g") -> list[str]:
    """Of a benchmark's rows."""
    return [*head(columns), *(line(shown(row, columns, form)) for row in rows)]


def made_by(origin: Mapping[str, Any]) -> str:
    return f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
