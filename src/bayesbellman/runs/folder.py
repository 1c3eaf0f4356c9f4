"""An output folder that is either whole or not there, and that never costs anybody a file."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

OURS = ".bbo-files"
"""In each folder we make: the names of the files we put there. Only such a folder, with nothing added, is replaced."""


def shown(path: Path) -> str:
    """As text that can be written down: names are bytes, and those that are no UTF-8 are shown as far as they are."""
    return os.fsencode(path).decode("utf-8", errors="replace")


def refuse_if_unusable(out: Path, *, overwrite: bool, resume: bool = False, filled: bool = False) -> None:
    """Say before the work starts, not after it, that its result could not be kept.

    ``resume``: a folder of ours is gone on with. Nothing in it is replaced, so others may have put files there.
    ``filled``: one that is there is written into, and not replaced as a whole, which its parent would have to allow.
    """
    place = out.resolve()
    if place in (here := Path.cwd().resolve(), *here.parents):
        raise FileExistsError(f"--out {out} is the current folder or above it; name a folder inside it")
    if place.exists() and not (resume and (place / OURS).is_file()):
        _refuse_to_replace(out, place, overwrite=overwrite)
    existing = next(parent for parent in (place, *place.parents) if parent.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"--out {out} cannot be made: {existing} is a file")
    writable = existing if existing != place or filled else place.parent
    if not os.access(writable, os.W_OK | os.X_OK):
        raise PermissionError(f"--out {out} cannot be written: {writable} is read-only for this user")


def _refuse_to_replace(out: Path, place: Path, *, overwrite: bool) -> None:
    if not place.is_dir():
        raise FileExistsError(f"--out {out} is a file; name a folder")
    inside = {path.name for path in place.iterdir()}
    if inside and not overwrite:
        raise FileExistsError(f"--out {out} already has files in it; name another folder or add --overwrite")
    ours = set((place / OURS).read_text(encoding="utf-8").splitlines()) if OURS in inside else set()
    if foreign := sorted(inside - ours - {OURS}):
        raise FileExistsError(
            f"--out {out} has files that bbo did not write ({', '.join(foreign[:3])}), and --overwrite replaces the"
            " whole folder; name another"
        )


@contextlib.contextmanager
def whole_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary folder beside ``out`` that takes its name when the body ends well, and vanishes when it does not.

    An earlier result under that name (only with ``overwrite``) stays until then, and comes back if the change of names
    is interrupted.
    """
    refuse_if_unusable(out, overwrite=overwrite)
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".bbo-", dir=place.parent))
    fresh, old = scratch / "new", scratch / "old"
    try:
        fresh.mkdir()
        yield fresh
        names = sorted(path.name for path in fresh.iterdir())
        (fresh / OURS).write_text("\n".join(names) + "\n", encoding="utf-8")
        if place.exists():
            place.rename(old)
        fresh.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(scratch, ignore_errors=True)


def remove_folder(out: Path) -> None:
    """One that `whole_folder` made, if it is there; what others put into it stays."""
    listed = out / OURS
    if not listed.exists():
        return
    for name in (*listed.read_text(encoding="utf-8").splitlines(), OURS):
        (out / name).unlink(missing_ok=True)
    if not any(out.iterdir()):
        out.rmdir()
