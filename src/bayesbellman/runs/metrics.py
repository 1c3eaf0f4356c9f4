"""Numbers on the way of a run: one JSON object a line, on disk as soon as it is written."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bayesbellman.runs.whole_files import write_text


class Gone(FileNotFoundError):
    """What is written to is no longer where it was."""


class MetricsFile:
    """Writes such a file. JSON has no nan and no infinity: they become null.

    ``until``: go on with a file that is there, from what it says of steps up to that one; the rest of it is dropped.
    """

    def __init__(self, path: Path, until: int | None = None) -> None:
        kept = [] if until is None else [one for one in read_metrics(path) if one["steps"] <= until]
        write_text(path, "".join(_line(record) for record in kept))
        self.path, self.kept = path, kept
        self._file = path.open("r+b")
        self._end = self._file.seek(0, os.SEEK_END)
        self._pending = b""

    def write(self, record: Mapping[str, Any]) -> None:
        """If it fails (a full disk), nothing is lost: the next call writes it too, and there is no half a line."""
        self._pending += _line(record).encode()
        self.write_pending()

    def write_pending(self) -> None:
        """What an earlier call could not write."""
        self._file.seek(self._end)
        self._file.truncate()
        self._file.write(self._pending)
        self._file.flush()
        self._end, self._pending = self._end + len(self._pending), b""

    @property
    def is_there(self) -> bool:
        """An open file can be written to also where its folder is gone, and nobody would find it."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def refuse_if_gone(self) -> None:
        if not self.is_there:
            raise Gone(f"{self.path} has been removed, renamed or replaced while it was written to")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(finite(record), allow_nan=False) + "\n"


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
    """The records; a last line that was cut by a kill is left out, and one that is none of ours is an error."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [_record(path, number, line) for number, line in enumerate(lines[:-1], 1) if line]


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except ValueError:
        record = None
    if not isinstance(record, dict) or not isinstance(record.get("steps"), int):
        words = line[:40].decode(errors="replace")
        raise ValueError(
            f"{path} is damaged: line {number} is no record of ours ({words!r}); without it the rest is read"
        )
    return record
