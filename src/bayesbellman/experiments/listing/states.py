"""How far a run or a study is, in a line."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.experiments.listing.finding import Found
from bayesbellman.experiments.training.plan import CONFIG, METRICS
from bayesbellman.experiments.training.reading import SeedRun, read_run
from bayesbellman.experiments.work_folder import PIECES, SETTINGS
from bayesbellman.runs.lock import is_held

HEADER = ("what", "status", "progress", "last", "written", "folder")
ORDER = ("running", "failed", "diverged", "interrupted", "stopped", "not begun", "finished", "solved")
"""Of several seeds, the one that comes first here gives the run its status."""


class State(NamedTuple):
    """One line of the list."""

    folder: Path
    kind: str
    """run or study"""
    title: str
    status: str
    """Of `ORDER`, or unreadable"""
    counts: dict[str, int]
    """Seeds by status"""
    done: int
    total: int | None
    """Steps of all seeds, or jobs; None where that is not known"""
    unit: str
    last: float | None
    """Median over seeds of the last evaluation, or of the last return where there was no evaluation"""
    last_is: str
    written: float
    """Seconds since 1970"""
    reason: str = ""
    """Why it is unreadable"""

    def as_json(self) -> dict[str, Any]:
        written = datetime.fromtimestamp(self.written, UTC).isoformat(timespec="seconds") if self.written else None
        share = None if not self.total else round(self.done / self.total, 4)
        return {**self._asdict(), "folder": str(self.folder), "share": share, "written": written}

    def row(self, now: float) -> tuple[str, ...]:
        status = self.status
        if len(self.counts) > 1 or sum(self.counts.values()) > 1:
            status = ", ".join(f"{self.counts[how]} {how}" for how in ORDER if how in self.counts)
        if self.reason:
            return ("-", "unreadable", "-", "-", _ago(self.written, now), str(self.folder))
        progress = f"{self.done:,} {self.unit}"
        if self.total:
            progress = f"{self.done:,} of {self.total:,} {self.unit}, {100 * self.done / self.total:.0f} %"
        last = "-" if self.last is None else f"{self.last_is} {self.last:.4g}"
        return (self.title, status, progress, last, _ago(self.written, now), str(self.folder))


def state_of(found: Found) -> State:
    """How far it is. What cannot be read is said to be so, with the reason; nothing here raises."""
    try:
        return _run(found.folder) if found.kind == "run" else _study(found.folder)
    except Exception as error:
        words = str(error) or type(error).__name__
        reason = " ".join(words.removeprefix("RUN: ").replace(f"{found.folder}/", "").split())
        return State(
            found.folder, found.kind, "-", "unreadable", {}, 0, None, "", None, "", _written(found.folder), reason
        )


def _run(folder: Path) -> State:
    run = read_run(folder)
    counts = dict(Counter(seed.how for seed in run.seeds))
    status = next((how for how in ORDER if how in counts), next(iter(counts), "not begun"))
    if is_held(folder):  # also between two seeds, and before the first piece
        status = "running"
    steps, total = sum(seed.steps for seed in run.seeds), int(run.config["run"]["steps"]) * len(run.seeds)
    last_is, values = "evaluation", [value for seed in run.seeds if (value := _evaluation(seed)) is not None]
    if not values:
        last_is, values = "return", [value for seed in run.seeds if (value := _return(seed)) is not None]
    last = float(np.median(values)) if values else None
    places = [folder / CONFIG, *(seed.folder / METRICS for seed in run.seeds)]
    return State(folder, "run", run.title, status, counts, steps, total, "steps", last, last_is, _newest(places))


def _evaluation(seed: SeedRun) -> float | None:
    """None also for one that was not finite."""
    means = (record["evaluation"]["mean"] for record in reversed(seed.records) if "evaluation" in record)
    return _number(next(means, None))


def _return(seed: SeedRun) -> float | None:
    return _number(next((record["returns"][-1] for record in reversed(seed.records) if record["returns"]), None))


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


def _study(folder: Path) -> State:
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    if not isinstance(settings, dict):
        raise ValueError(f"{SETTINGS} holds no settings")
    kept = sorted(folder.glob("*.npz"))
    total = settings.get("jobs")
    status = "running" if is_held(folder) else "interrupted"
    title = f"study {folder.name.removesuffix('.part')}"
    number = total if isinstance(total, int) else None
    written = _newest([folder / SETTINGS, *kept, *folder.glob(f"*{PIECES}")])
    return State(folder, "study", title, status, {}, len(kept), number, "jobs", None, "", written)


def _written(folder: Path) -> float:
    try:
        return _newest([path for path in folder.iterdir() if path.is_file()])
    except OSError:
        return 0.0


def _newest(paths: Sequence[Path]) -> float:
    times = []
    for path in paths:
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def _ago(written: float, now: float) -> str:
    if not written:
        return "-"
    seconds = max(0.0, now - written)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
