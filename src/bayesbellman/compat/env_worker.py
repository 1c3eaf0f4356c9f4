"""An environment in a process of its own: what runs there, and how the two sides talk.

Messages are a line of JSON and raw numbers. Nothing that comes from the environment's process is unpickled.
This module imports neither JAX nor, before it is asked for an environment, Gymnasium: its process starts quickly.
"""

import json
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

NUMBERS = "biuf"
"""Kinds of arrays that travel"""


class Odd:
    """Stands for what an environment gave in place of numbers."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


def encode(message: dict[str, Any]) -> bytes:
    arrays: list[np.ndarray] = []
    header = {name: _flat(value, arrays) for name, value in message.items()}
    return json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)


def decode(content: bytes) -> dict[str, Any]:
    header, _, numbers = content.partition(b"\n")
    message, offset = json.loads(header), [0]
    return {name: _whole(value, numbers, offset) for name, value in message.items()}


def _flat(value: Any, arrays: list[np.ndarray]) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return [_flat(part, arrays) for part in value]
    if isinstance(value, dict):  # of infos nothing is used
        return {}
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in NUMBERS:
        return {"odd": f"{type(value).__name__} {value!r:.60}"}
    arrays.append(np.ascontiguousarray(array))
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bool": isinstance(value, bool)}


def _whole(value: Any, numbers: bytes, offset: list[int]) -> Any:
    if isinstance(value, list):
        return tuple(_whole(part, numbers, offset) for part in value)
    if not isinstance(value, dict) or not value:
        return value
    if "odd" in value:
        return Odd(str(value["odd"]))
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in NUMBERS:
        raise ValueError(f"numbers of the kind {dtype} do not travel")
    count = int(np.prod(value["shape"], dtype=np.int64))
    array = np.frombuffer(numbers, dtype, count, offset[0]).reshape(value["shape"]).copy()
    offset[0] += array.nbytes
    return bool(array) if value["bool"] else array


def space_message(space: Any) -> dict[str, Any]:
    """Of a Box or a Discrete its numbers, of others how they are shown."""
    from gymnasium.spaces import Box, Discrete

    if isinstance(space, Box):
        return {"kind": "Box", "low": space.low, "high": space.high, "dtype": str(space.dtype)}
    if isinstance(space, Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    return {"kind": "other", "shown": "not stated" if space is None else str(space)}


def serve(connection: Connection, make: Callable[[], Any]) -> None:
    """Make the environment and do as told, until told to close or left alone."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C, or a batch system's end of time, is for the one that trains
        signal.signal(stop, signal.SIG_IGN)
    try:
        env = make()
        unwrapped, spec = getattr(env, "unwrapped", env), getattr(env, "spec", None)
        name = type(unwrapped).__name__ if spec is None else str(spec.id)
        connection.send_bytes(encode({"name": name, "type": "Env" if _is_env(env) else type(env).__name__}))
        for space in ("observation_space", "action_space"):
            connection.send_bytes(encode(space_message(getattr(env, space, None))))
    except Exception as error:
        connection.send_bytes(encode(_failure(error)))
        return
    while True:
        try:
            message = decode(connection.recv_bytes())
        except EOFError:
            break
        try:
            if message["call"] == "close":
                break
            if message["call"] == "reset":
                given = env.reset(seed=None if message["seed"] is None else int(message["seed"]))
            else:
                action = message["action"]
                given = env.step(action if action.ndim else action[()])
            answer = {"given": given}
        except Exception as error:
            answer = _failure(error)
        connection.send_bytes(encode(answer))
    env.close()


def _failure(error: Exception) -> dict[str, Any]:
    return {"raised": type(error).__name__, "words": str(error), "where": traceback.format_exc()}


def _is_env(env: Any) -> bool:
    import gymnasium

    return isinstance(env, gymnasium.Env)
