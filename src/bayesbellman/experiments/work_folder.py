"""The folder beside a study's results that keeps its finished jobs, so that what is killed or stopped goes on."""

import json
from collections.abc import Callable
from pathlib import Path

from bayesbellman.experiments.artefact import Arrays, Plan
from bayesbellman.runs.arrays import Damaged, read_arrays, write_arrays
from bayesbellman.runs.json_files import write_json
from bayesbellman.runs.lock import LOCK
from bayesbellman.runs.provenance import code_digest

Say = Callable[[str], None]
SETTINGS = "settings.json"
SPENT = "seconds.json"
"""What earlier pieces took"""
PIECES = ".pieces"
"""After the name of a job: the folder where it puts down its work"""
MOST_UNKEPT = 3
"""So many finished jobs may wait for room on the disk before no more are begun"""


def work_folder(out: Path) -> Path:
    """The folder that keeps finished jobs. One that is there must be ours."""
    work = out.with_name(out.name + ".part")
    if work.exists() and not work.is_dir():
        raise NotADirectoryError(f"--out {out}: {work}, where finished jobs are kept, is a file; name another --out")
    if work.exists() and not (work / SETTINGS).exists() and not all(map(_left_at_once, work.iterdir())):
        raise FileExistsError(
            f"--out {out}: {work}, where finished jobs are kept, has files that bbo did not write; name another --out"
        )
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"--out {out} cannot be made: {error}") from error
    return work


def _left_at_once(path: Path) -> bool:
    """Whether it is what we leave when we are killed before there are settings."""
    return path.name == LOCK or _is_scratch(path)


def _is_scratch(path: Path) -> bool:
    """Whether settings were being written into it when we were killed."""
    return path.name.startswith(f".{SETTINGS}.") and path.suffix == ".tmp"


def open_work(work: Path, plan: Plan, *, overwrite: bool) -> None:
    """Prepare the folder that keeps finished jobs: fresh, or of an interrupted run of the same settings and code."""
    asked = json.loads(json.dumps({**plan.settings, "jobs": len(plan.jobs), "code": code_digest()}))
    path = work / SETTINGS
    for scratch in [path for path in work.iterdir() if _is_scratch(path)]:
        scratch.unlink()
    if path.exists():
        begun = _read_settings(path)
        if begun == asked:
            return
        if not overwrite:
            names = sorted(name for name in {*begun, *asked} if begun.get(name) != asked.get(name))
            changes = "; ".join(f"{name} was {begun.get(name)}, is {asked.get(name)}" for name in names)
            raise FileExistsError(
                f"{work} holds an interrupted run with other settings ({changes});"
                " repeat its settings to resume it, name another --out, or add --overwrite to drop it"
            )
        drop_jobs(work)
        (work / SPENT).unlink(missing_ok=True)
    write_json(path, asked)


def _read_settings(path: Path) -> dict[str, object]:
    """What an interrupted run was asked; a file that cannot be read differs from everything."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        settings = None
    return settings if isinstance(settings, dict) else {"settings": "unreadable"}


def kept_jobs(plan: Plan, work: Path, say: Say) -> dict[str, Arrays]:
    kept: dict[str, Arrays] = {}
    for job in plan.jobs:
        path = work / f"{job.name}.npz"
        if path.exists():
            try:
                kept[job.name] = read_arrays(path)
            except Damaged as error:
                say(f"{error}; the job is done again")
    return kept


class Keeping:
    """Writes down what jobs gave. What finds no room waits for it: hours of work are in it."""

    def __init__(self, work: Path, say: Say) -> None:
        self._work, self._say = work, say
        self._waiting: dict[str, Arrays] = {}

    @property
    def too_many(self) -> bool:
        return len(self._waiting) > MOST_UNKEPT

    def __call__(self, name: str, arrays: Arrays, seconds: float) -> None:
        """This job's, and those that wait. ``seconds``: that all have taken so far."""
        self._waiting[name] = arrays
        try:
            self._write()
            keep_time(self._work, seconds)
        except OSError as error:
            self._say(f"job {name} is done and cannot be kept in {self._work} yet ({error}); make room there")

    def at_last(self) -> None:
        """There is no later."""
        try:
            self._write()
        except OSError as error:
            names = ", ".join(self._waiting)
            raise OSError(
                f"no room in {self._work} ({error}): {names} must be done again, other jobs that have ended are kept;"
                " make room, and the same command goes on"
            ) from error

    def _write(self) -> None:
        for name in [*self._waiting]:
            write_arrays(self._work / f"{name}.npz", self._waiting[name])
            del self._waiting[name]
            _drop_pieces(self._work / f"{name}{PIECES}")


def keep_time(work: Path, seconds: float) -> None:
    (work / SPENT).write_text(json.dumps(seconds), encoding="utf-8")


def spent(work: Path) -> float:
    """Seconds that earlier pieces took; of one that was killed, until the last job that it ended."""
    try:
        return float(json.loads((work / SPENT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return 0.0


def drop_jobs(work: Path) -> None:
    for kept in (*work.glob("*.npz"), *work.glob(".*.npz.*.tmp")):
        kept.unlink()
    for pieces in work.glob(f"*{PIECES}"):
        _drop_pieces(pieces)


def _drop_pieces(folder: Path) -> None:
    """What a job has put down, and nothing else."""
    for kept in (*folder.glob("*.bbo"), *folder.glob(".*.bbo.*.tmp"), *folder.glob("*.bbo.damaged")):
        kept.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
