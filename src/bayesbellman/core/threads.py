"""Independent NumPy work on all cores.

OpenBLAS splits a product by rows and columns of its result. For the tall, thin products of exact evaluation (a
million rows, a few dozen columns) that leaves cores waiting; splitting the rows among workers with one BLAS thread
each does not.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part")

MOST_WORKERS = 8
"""Each worker holds a block of its own, so this bounds the memory; more cores find the memory bus busy anyway."""
RANGES_A_WORKER = 8


def split_among_cores(work: Callable[[int, int], Part], num_items: int, enough: int) -> list[Part]:
    """``work(start, stop)`` on consecutive ranges that cover ``num_items``, side by side; results in order.

    Ranges have ``enough`` items or more, and there are several a worker, so that a core which is busy elsewhere does
    not hold up the rest. Needs threadpoolctl (the extra ``fast``) to hold BLAS to one thread a worker; without it, with
    one core or with few items, everything is one range.
    """
    workers = min(cores(), MOST_WORKERS)
    ranges = min(workers * RANGES_A_WORKER, num_items // enough)
    if workers < 2 or ranges < 2:
        return [work(0, num_items)]
    with one_blas_thread_each() as limited:
        if not limited:
            return [work(0, num_items)]
        edges = [num_items * i // ranges for i in range(ranges + 1)]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, edges[:-1], edges[1:]))


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread_each() -> Iterator[bool]:
    """Hold BLAS and LAPACK to one thread a caller while the body runs. Without threadpoolctl: False, nothing held."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        yield False
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield True
