"""One process per folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


class InUse(OSError):
    """Another process works in the folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder while the body runs. The system drops the lock with the process, so a killed one leaves none."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    with (folder / ".lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise InUse(f"{folder} is in use by process {file.read().strip() or 'unknown'}") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
