"""Arrays by name in one file: written whole or not at all, checked when read, and never executed."""

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbellman.runs.whole_files import write_bytes

DIGEST_BYTES = 32


class Damaged(ValueError):
    """The file is not what was written."""


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An ``.npz`` followed by its SHA-256; the file appears under its name only when it is complete on disk."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # pyright: ignore[reportArgumentType] (no array is called "file")
    content = buffer.getvalue()
    write_bytes(path, content + hashlib.sha256(content).digest())


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote, or `Damaged`."""
    whole = path.read_bytes()
    if not whole.startswith(b"PK"):
        raise Damaged(f"{path} is damaged or was never written by us: it does not begin as our files do")
    content, digest = whole[:-DIGEST_BYTES], whole[-DIGEST_BYTES:]
    actual = hashlib.sha256(content).digest()
    if actual != digest:
        raise Damaged(f"{path} is damaged: its SHA-256 is {actual.hex()[:12]}…, not {digest.hex()[:12]}…")
    try:
        _refuse_to_unpack(path, content)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return dict(file)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, SyntaxError) as error:
        raise Damaged(f"{path} holds no arrays as we write them ({error})") from error


def _refuse_to_unpack(path: Path, content: bytes) -> None:
    """We compress nothing: an array that would take more room in memory than in the file was not written by us."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(content):
                raise ValueError(f"{member.filename} is compressed")
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(file)
                if dtype.hasobject or math.prod(shape) * dtype.itemsize > member.file_size:
                    raise ValueError(f"{member.filename} is {dtype}{list(shape)}, in {member.file_size} bytes")
