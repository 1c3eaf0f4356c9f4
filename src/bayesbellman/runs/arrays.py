"""Arrays by name in one file: written whole or not at all, checked when read, and never executed."""

import hashlib
import io
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

DIGEST_BYTES = 32


class Damaged(ValueError):
    """The file is not what was written."""


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An ``.npz`` followed by its SHA-256; the file appears under its name only when it is complete on disk."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # pyright: ignore[reportArgumentType] (no array is called "file")
    content = buffer.getvalue()
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with scratch.open("wb") as file:
        file.write(content + hashlib.sha256(content).digest())
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote, or `Damaged`."""
    whole = path.read_bytes()
    content, digest = whole[:-DIGEST_BYTES], whole[-DIGEST_BYTES:]
    actual = hashlib.sha256(content).digest()
    if actual != digest:
        raise Damaged(f"{path} is damaged: its SHA-256 is {actual.hex()[:12]}…, not {digest.hex()[:12]}…")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)
