"""Numbers on the way of a run: one JSON object a line, on disk as soon as it is written."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class MetricsFile:
    """Writes such a file. JSON has no nan and no infinity: they become null."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write(self, record: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(finite(record), allow_nan=False) + "\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def finite(value: Any) -> Any:
    """The same with None in place of numbers that are not finite, and arrays as lists."""
    if isinstance(value, Mapping):
        return {str(name): finite(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The records; a last line that was cut by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]
