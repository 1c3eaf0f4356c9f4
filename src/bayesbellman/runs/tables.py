"""Small tables as CSV, as Markdown and as aligned text: one list of rows, three ways to read it."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

Row = Sequence[object]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Row]) -> None:
    """Numbers are written in full, so that reading them back gives the same bits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def aligned(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Columns in step, numbers short and to the right."""
    cells = [[str(name) for name in header], *([_short(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def markdown(header: Sequence[str], rows: Sequence[Row]) -> str:
    """The same as a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_short(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _short(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:,.0f}" if 1e4 <= abs(cell) < 1e9 else f"{cell:.4g}"
