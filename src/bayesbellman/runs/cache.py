"""Arrays that are slow to make, kept between runs under a hash of what they are made from."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bayesbellman.runs.arrays import Damaged, read_arrays, write_arrays


def cache_folder() -> Path | None:
    """``$BBO_CACHE``, or the user's cache folder; None where there is neither (no home), or ``BBO_CACHE`` is empty."""
    named = os.environ.get("BBO_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bayesbellman"
    except RuntimeError:
        return None


def cached_arrays(
    name: str, content: Mapping[str, object], make: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """What ``make`` makes, from the cache if it holds it for the same ``content``.

    ``content`` must say, as JSON, everything that the arrays depend on, code included. A damaged or unwritable cache
    costs time, never the result.
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    folder = cache_folder()
    path = None if folder is None else folder / f"{name}-{digest}.npz"
    if path is not None:
        try:
            return read_arrays(path)
        except (OSError, Damaged):
            pass  # not there, or not whole: made again below
    arrays = {key: np.asarray(array) for key, array in make().items()}
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(path, arrays)
        except OSError:
            pass  # a read-only home: without the cache, then
    return arrays
