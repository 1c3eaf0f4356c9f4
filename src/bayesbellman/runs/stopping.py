"""Ctrl-C and a job's time limit: end what is going on, keep it, and say how to go on. The second time, stop at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):
    """Asked to stop, and did so in order."""

    def __init__(self, message: str, signum: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signum


class StopRequest:
    """Which signal has asked to stop, if one has."""

    signum: int | None = None


@contextlib.contextmanager
def stop_requests(on_first: Callable[[], None], on_second: Callable[[], None] | None = None) -> Iterator[StopRequest]:
    """While the body runs, the first SIGINT or SIGTERM calls ``on_first``; a second ends the process at once.

    ``on_second``: has the last word then; it must be short, and whatever goes wrong in it does not stop the end.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():  # only there can signals be received
        yield request
        return

    def handle(signum: int, frame: object) -> None:
        if request.signum is not None:
            try:
                if on_second is not None:
                    on_second()
            finally:
                os._exit(128 + signum)
        request.signum = signum
        on_first()

    before = {signum: signal.signal(signum, handle) for signum in SIGNALS}
    try:
        yield request
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def beside(work: Callable[[], Result]) -> Result:
    """Do ``work`` in another thread, so that signals are answered also while it is inside a long compiled program."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
