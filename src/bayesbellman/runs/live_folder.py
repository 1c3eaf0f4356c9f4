"""An output folder that is filled while a run goes on, held against other processes, and kept however the run ends."""

import contextlib
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from bayesbellman.runs.folder import OURS, refuse_if_unusable
from bayesbellman.runs.lock import LOCK, locked
from bayesbellman.runs.whole_files import write_text

SCRATCH = re.compile(r"\.(.+)\.\d+\.tmp")
"""What `write_arrays` calls a file that is not yet whole"""
NUMBERED = re.compile(r"\.?(step|steps|replay)-[\d-]+\.(bbo|npz)(\.damaged|\.\d+\.tmp)?|events\.out\.tfevents\..+")
"""Checkpoints, diagnostics, curves for TensorBoard"""


@contextlib.contextmanager
def live_folder(out: Path, names: Collection[str], *, overwrite: bool, resume: bool = False) -> Iterator[Path]:
    """``out``, locked, and fresh unless ``resume``. ``names``: of all that the run may write there, folders included.

    They are written down at the start, so that ``overwrite`` can replace also what a killed run has left.
    """
    refuse_if_unusable_or_in_use(out, overwrite=overwrite, resume=resume)
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        for name in _listed(out) if not resume else ():
            _remove(out / name)
        list_as_ours(out, [*names, LOCK])
        try:
            yield out
        finally:
            (out / LOCK).unlink(missing_ok=True)


def refuse_if_unusable_or_in_use(out: Path, *, overwrite: bool, resume: bool = False) -> None:
    """Say before the work starts that `live_folder` will not have the folder."""
    if (out / LOCK).exists():  # that somebody works there is said before anything else
        with locked(out):
            _drop_scratch(out)
    refuse_if_unusable(out, overwrite=overwrite, resume=resume, filled=True)
    for name in _listed(out) if not resume else ():
        if (inner := out / name).is_dir():
            _refuse_inner(inner, overwrite=overwrite)


def _refuse_inner(folder: Path, *, overwrite: bool) -> None:
    """A folder of ours inside a run: of a seed, with a list of its own, or of files that we number as we write them."""
    if (folder / OURS).exists():
        refuse_if_unusable_or_in_use(folder, overwrite=overwrite)
        return
    foreign = sorted(path.name for path in folder.iterdir() if not NUMBERED.fullmatch(path.name))
    if foreign:
        raise FileExistsError(f"{folder} has files that bbo did not write ({', '.join(foreign[:3])}); move them away")


def list_as_ours(folder: Path, names: Collection[str]) -> None:
    """Say that files of these names are ours to replace."""
    write_text(folder / OURS, "\n".join(sorted(names)) + "\n")


def _listed(folder: Path) -> list[str]:
    path = folder / OURS
    listed = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [name for name in listed if name and Path(name).name == name and name != LOCK]


def _inner(folder: Path) -> Iterator[Path]:
    """Folders of ours inside, and those inside them."""
    for name in _listed(folder):
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            yield folder / name
            yield from _inner(folder / name)


def _drop_scratch(folder: Path) -> None:
    """Files that a killed run was about to write."""
    for inside in (folder, *_inner(folder)):
        ours = (*_listed(inside), OURS)
        for path in inside.iterdir():
            found = SCRATCH.fullmatch(path.name)
            if found and (found[1] in ours or NUMBERED.fullmatch(path.name)):
                path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
