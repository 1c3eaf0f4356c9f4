"""One process per folder."""

import contextlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

LOCK = ".lock"


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
    while True:
        with (folder / LOCK).open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise InUse(f"{folder} is in use by process {holder}; wait for it, or name another folder") from None
            if not _is_at(folder / LOCK, file):
                continue  # its holder removed it after we had opened it; who comes next would lock another
            file.truncate(0)
            file.write(f"{os.getpid()} on {platform.node()}")
            file.flush()
            yield
            return


def _is_at(path: Path, file: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def is_held(folder: Path) -> bool:
    """Whether a process works in the folder; nothing is changed."""
    try:
        import fcntl

        with (folder / LOCK).open("r", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False
