"""Arrays and facts in one file with a manifest: a hash per array, written whole or not at all, and never executed.

A file is: eight bytes that name the format, the manifest's length (eight bytes, little-endian), the manifest (JSON),
its SHA-256, then the arrays' bytes one after the other. Nothing is compressed, so a small file cannot ask for much
memory.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"BBO-1\r\n\0"
LONGEST_MANIFEST = 64 * 2**20
TYPES = frozenset(
    np.dtype(name).str
    for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
                 "float32", "float64")
)  # fmt: skip


class Corrupt(ValueError):
    """The file is not what was written, or was not written by us."""


def write_bundle(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """The file appears under its name only when it is complete on disk; what was there before stays until then."""
    solid = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    start, entries = 0, {}
    for name, array in solid.items():
        if array.dtype.str not in TYPES:
            raise TypeError(f"array {name} is of type {array.dtype}; accepted are plain numbers")
        digest = hashlib.sha256(_bytes(array)).hexdigest()
        entries[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "start": start, "sha256": digest}
        start += array.nbytes
    manifest = json.dumps({"arrays": entries, "facts": facts}, allow_nan=False).encode()
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("wb") as file:
            file.write(MAGIC + len(manifest).to_bytes(8, "little") + manifest + hashlib.sha256(manifest).digest())
            for array in solid.values():
                file.write(_bytes(array))
            flush_to_disk(file)
        publish(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def flush_to_disk(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def publish(scratch: Path, path: Path) -> None:
    """The complete file takes its name, and the folder remembers it."""
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_facts(path: Path) -> dict[str, Any]:
    """The facts alone, or `Corrupt`."""
    with _opened(path) as file:
        return _manifest(path, file)["facts"]


def read_bundle(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and facts, every hash checked, or `Corrupt`. No more memory is asked for than the file has bytes."""
    with _opened(path) as file:
        manifest = _manifest(path, file)
        begin, size = file.tell(), path.stat().st_size
        arrays = {}
        for name, entry in manifest["arrays"].items():
            dtype, shape, start = _checked_entry(path, name, entry)
            count = math.prod(shape)
            if begin + start + count * dtype.itemsize > size:
                raise Corrupt(f"{path} is damaged: it ends before array {name} does")
            file.seek(begin + start)
            content = file.read(count * dtype.itemsize)
            actual = hashlib.sha256(content).hexdigest()
            if actual != entry["sha256"]:
                raise Corrupt(f"{path} is damaged: the SHA-256 of array {name} is {actual}, expected {entry['sha256']}")
            arrays[name] = np.frombuffer(content, dtype).reshape(shape)
        return arrays, manifest["facts"]


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _opened(path: Path) -> Any:
    if path.is_symlink() or not path.is_file():
        raise Corrupt(f"{path} is not a plain file")
    return path.open("rb")


def _manifest(path: Path, file: Any) -> dict[str, Any]:
    head = file.read(len(MAGIC) + 8)
    if head[: len(MAGIC)] != MAGIC or len(head) < len(MAGIC) + 8:
        raise Corrupt(f"{path} is no file of ours, or its beginning is damaged")
    length = int.from_bytes(head[len(MAGIC) :], "little")
    if length > min(LONGEST_MANIFEST, path.stat().st_size):
        raise Corrupt(f"{path} is damaged: it ends before its manifest does")
    text, digest = file.read(length), file.read(32)
    actual = hashlib.sha256(text).digest()
    if actual != digest:
        raise Corrupt(f"{path} is damaged: the SHA-256 of its manifest is {actual.hex()}, expected {digest.hex()}")
    try:
        manifest = json.loads(text)
        if not (isinstance(manifest["arrays"], dict) and isinstance(manifest["facts"], dict)):
            raise TypeError("arrays and facts must be objects")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Corrupt(f"{path} has a manifest that is not ours ({error!r})") from error
    return manifest


def _checked_entry(path: Path, name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    """Type, shape and place of an array; what the manifest says is believed only as far as it makes sense."""
    try:
        dtype, shape, start = entry["dtype"], entry["shape"], entry["start"]
        numbers = [*shape, start]
        sound = all(type(number) is int and 0 <= number < 2**48 for number in numbers) and len(shape) <= 16
        if dtype not in TYPES or not sound or not isinstance(entry["sha256"], str):
            raise ValueError(f"type {dtype!r}, shape {shape!r}, start {start!r}")
        return np.dtype(dtype), tuple(shape), start
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupt(f"{path}: array {name} is not described as ours are ({error})") from error
