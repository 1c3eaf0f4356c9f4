"""Files that are whole whenever they are there."""

import os
from pathlib import Path


def write_bytes(path: Path, content: bytes) -> None:
    """In place of what was there, at once, when it is on disk. Where there is no room, what was there stays."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """As `write_bytes` does."""
    write_bytes(path, text.encode())
