"""An environment in a process of its own, which may hang or die without taking us with it."""

import multiprocessing
import pickle
import signal
import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

import gymnasium
import numpy as np

from bayesbellman.compat.env_worker import decode, encode, serve
from bayesbellman.compat.gymnasium.faults import OtherProcess

MAKING = 120.0
"""Seconds that an environment may take to be made, where its timeout is shorter: a process starts, and imports"""
LEAVING = 1.0
"""Seconds that it may take to close"""


class Isolated(gymnasium.Env):
    """What ``make`` makes, in a new process. Each ``step`` and ``reset`` must answer within ``timeout`` seconds.

    One that does not, or that dies, is ended, and raises `OtherProcess`; the next ``reset`` starts a new process.
    To the process goes ``make``, pickled; so it must be a function of a module, or a partial of one. From it come
    numbers only.
    """

    def __init__(self, make: Callable[[], gymnasium.Env], timeout: float) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}; it must be > 0 (seconds)")
        self.make, self.timeout, self.own_name = make, float(timeout), ""
        self._end: weakref.finalize | None = None
        self.observation_space, self.action_space = self._start()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple:
        if self._end is None or not self._end.alive:
            self._start()
        return self._ask({"call": "reset", "seed": seed}, self.timeout)

    def step(self, action: Any) -> tuple:
        if self._end is None or not self._end.alive:
            raise gymnasium.error.ResetNeeded("its process has ended; call reset() before step()")
        return self._ask({"call": "step", "action": np.asarray(action)}, self.timeout)

    def close(self) -> None:
        if self._end is not None:
            self._end()

    def _start(self) -> tuple[gymnasium.Space, gymnasium.Space]:
        context = multiprocessing.get_context("spawn")  # forked, it would inherit JAX's locks without its threads
        theirs: Any  # of a type that depends on the system
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self.make), daemon=True)
        try:
            self._process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self._connection.close()
            raise ValueError(
                f"env: a process of its own (env_timeout) must be able to make it, and this cannot be sent there"
                f" ({error}); pass its id, or a function at the top of a module"
            ) from error
        finally:
            theirs.close()
        self._end = weakref.finalize(self, _end, self._process, self._connection)
        patience = max(self.timeout, MAKING)
        about = self._received(patience)
        if about["type"] != "Env":
            self.close()
            raise TypeError(f"env made {about['type']}, not a gymnasium.Env, which env_timeout is for")
        self.own_name = about["name"]
        return _space(self._received(patience)), _space(self._received(patience))

    def _ask(self, message: dict[str, Any], timeout: float) -> tuple:
        try:
            self._connection.send_bytes(encode(message))
            return self._received(timeout)["given"]
        except OSError:
            self._died()
        except (KeyboardInterrupt, SystemExit):
            self.close()  # its answer, still to come, would be taken for that to the next question
            raise

    def _received(self, timeout: float) -> dict[str, Any]:
        try:
            if not self._connection.poll(timeout):
                self.close()
                raise OtherProcess(f"gave no answer within {timeout:g} s, and its process was ended", gone=True)
            answer = decode(self._connection.recv_bytes())
        except (EOFError, OSError):
            self._died()
        if "raised" in answer:
            error = OtherProcess(f"raised {answer['raised']}: {answer['words']}")
            error.add_note(answer["where"])
            raise error
        return answer

    def _died(self) -> NoReturn:
        self._process.join(LEAVING)
        code = self._process.exitcode
        self.close()
        raise OtherProcess(f"did not return: its process died ({_exit_words(code)})", gone=True)


def maker_of(name: str) -> Callable[[], gymnasium.Env] | None:
    """What makes an environment of Gymnasium's in another process; None where Gymnasium does not know the id.

    Its specification goes there, so an id that was registered only in this process will do.
    """
    module, _, own = name.rpartition(":")
    if module:
        import_module(module)
    spec = gymnasium.registry.get(own)
    return None if spec is None else partial(gymnasium.make, spec, disable_env_checker=True)


def _end(process: BaseProcess, connection: Any) -> None:
    try:
        connection.send_bytes(encode({"call": "close"}))
    except OSError:  # it has gone
        pass
    else:
        process.join(LEAVING)
    if process.is_alive():
        process.kill()
    process.join()
    connection.close()
    process.close()


def _exit_words(code: int | None) -> str:
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"exit code {code}"


class _Other(gymnasium.Space):
    """A space of a kind that agents here cannot use."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


def _space(message: dict[str, Any]) -> gymnasium.Space:
    if message["kind"] == "Box":
        dtype: Any = np.dtype(message["dtype"]).type
        return gymnasium.spaces.Box(message["low"], message["high"], dtype=dtype)
    if message["kind"] == "Discrete":
        return gymnasium.spaces.Discrete(int(message["n"]), start=int(message["start"]))
    return _Other(message["shown"])
