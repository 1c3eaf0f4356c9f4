"""More data than memory: streams, memory maps, and a hard limit on the address space."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import bayesbellman as bb

# Streams 24 chunks of 64 MiB (1.5 GiB) with 256 MiB of address space beyond what importing and one chunk took.
UNDER_LIMIT = """
import resource, numpy as np, bayesbellman as bb

def chunk(seed):
    v = np.random.default_rng(seed).standard_normal((65_536, 64))
    return v, v[:, 0], np.roll(v, 1, axis=0), np.full(65_536, 0.9), np.ones(65_536)

bb.LinearBBO().fit(*chunk(0)).omega_
virtual = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (virtual + 256 * 2**20,) * 2)
model = bb.LinearBBO().fit_stream(chunk(seed) for seed in range(24))
print(model.n_samples_seen_, np.isfinite(model.omega_).all())
"""


def test_a_stream_stays_within_a_hard_memory_limit() -> None:
    done = subprocess.run([sys.executable, "-c", UNDER_LIMIT], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(24 * 65_536), "True"], done.stderr[-2000:]


def test_memory_mapped_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"v": rng.normal(size=(3000, 4)), "r": rng.normal(size=3000), "n": rng.normal(size=(3000, 4))}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in arrays]
    by_map, by_memory = bb.LinearBBO().fit(*mapped, 0.5), bb.LinearBBO().fit(*arrays.values(), 0.5)
    np.testing.assert_array_equal(by_map.omega_, by_memory.omega_)


def test_a_chunk_is_released_before_the_next_is_made() -> None:
    """The estimator keeps sums, not chunks: none is alive when the one after the next is asked for."""
    import gc
    import weakref

    alive: list[weakref.ref] = []

    def chunks():
        for seed in range(4):
            gc.collect()
            assert sum(ref() is not None for ref in alive[:-1]) == 0
            v = np.random.default_rng(seed).normal(size=(10, 2))
            alive.append(weakref.ref(v))
            yield v, v[:, 0], v, 0.5

    assert bb.LinearBBO().fit_stream(chunks()).n_samples_seen_ == 40
