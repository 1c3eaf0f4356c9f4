"""An output folder that is either whole or not there."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def refuse_if_unusable(out: Path, *, overwrite: bool) -> None:
    """Say before the work starts, not after it, that its result could not be kept."""
    if out.exists():
        if not out.is_dir():
            raise FileExistsError(f"--out {out} is a file; name a folder")
        if any(out.iterdir()) and not overwrite:
            raise FileExistsError(f"--out {out} already has files in it; name another folder or add --overwrite")
    existing = next(parent for parent in (out.absolute(), *out.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"--out {out} cannot be made: {existing} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"--out {out} cannot be written: {existing} is read-only for this user")


@contextlib.contextmanager
def whole_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary folder beside ``out`` that takes its name when the body ends well, and vanishes when it does not.

    What stood under that name before (only with ``overwrite``) is replaced at the end, in one rename.
    """
    refuse_if_unusable(out, overwrite=overwrite)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".bbo-", dir=out.parent))
    try:
        (fresh := scratch / "new").mkdir()
        yield fresh
        if out.exists():
            out.rename(scratch / "old")
        fresh.rename(out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
