"""Environments in processes of their own: they may raise, hang or die, and only numbers come from them (F9)."""

import os
import pickle
import signal
import time
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from tests.compat import hostile

from bayesbellman.compat.env_worker import Odd, decode, encode
from bayesbellman.compat.gymnasium import EnvironmentFailed, EnvironmentWarning, HostEnv, Isolated, make_host_env

STILL = np.zeros((1, 1), dtype=np.float32)


def isolated(make: Any, timeout: float = 30.0, **settings: Any) -> HostEnv:
    return make_host_env(make, timeout=timeout, check=False, **settings)


def process_of(host: HostEnv) -> int:
    env = host.first
    assert isinstance(env, Isolated)
    return int(env._process.pid or 0)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


class Bomb:
    """Would run code where it is unpickled."""

    def __reduce__(self) -> tuple:
        return os.abort, ()


def test_messages_are_numbers_and_words() -> None:
    given = (
        np.float32([[1, 2]]),
        3.5,
        True,
        np.bool_(False),
        {"info": Bomb()},
        {"a": Bomb()},
        None,
        "words",
        [[1], [2, 3]],
    )
    array, number, flag, numpy_flag, info, other, none, words, ragged = decode(encode({"given": given}))["given"]
    assert (array.dtype, array.tolist()) == (np.float32, [[1.0, 2.0]])
    assert (float(number), flag, bool(numpy_flag), info, other, none, words) == (
        3.5,
        True,
        False,
        {},
        {},
        None,
        "words",
    )
    assert isinstance(ragged, Odd)
    assert "Bomb" in repr(decode(encode({"given": Bomb()}))["given"])
    with pytest.raises(ValueError, match="do not travel"):
        decode(b'{"given": {"dtype": "|O", "shape": [1], "bool": false}}\n' + pickle.dumps(Bomb()))


def test_it_plays_the_same_steps_as_in_our_process() -> None:
    here, there = make_host_env("Pendulum-v1", seed=3, check=False), isolated("Pendulum-v1", seed=3)
    assert (there.name, there.spaces) == (here.name, here.spaces)
    assert np.array_equal(here.reset(), there.reset())
    for action in np.linspace(-1, 1, 210, dtype=np.float32):  # beyond the end of an episode
        for one, two in zip(here.step(action[None, None]), there.step(action[None, None]), strict=True):
            assert np.array_equal(one, two)
    process = process_of(there)
    there.close()
    assert not is_there(process)


def test_one_that_hangs_is_ended_and_named() -> None:
    host = isolated(hostile.Hangs, 0.5, seed=4)
    host.reset()
    host.step(STILL)
    process, started = process_of(host), time.monotonic()
    message = r"Hangs \(environment 0, seed 4, step 1, .*action \[4.0\]\): step\(\) gave no answer within 0.5 s"
    with pytest.raises(EnvironmentFailed, match=message):
        host.step(np.ones((1, 1)))
    assert time.monotonic() - started < 10
    assert not is_there(process)
    assert host.reset()[0, 1] == 0  # in a new process
    host.close()


def test_an_answer_that_nobody_waited_for_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a notebook, while the environment is stepping: the next reset begins in a new process."""
    host = isolated(hostile.Line, seed=4)
    host.reset()
    env = host.first
    assert isinstance(env, Isolated)
    process, received = process_of(host), Isolated._received

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Isolated, "_received", interrupted)
    with pytest.raises(KeyboardInterrupt):
        host.step(STILL)
    monkeypatch.setattr(Isolated, "_received", received)
    assert not is_there(process)
    assert host.reset()[0, 1] == 0
    assert [host.step(STILL).observation[0, 1] for _ in range(2)] == [1, 2]
    host.close()


def test_one_that_dies_is_restarted_as_a_cut() -> None:
    host = isolated(hostile.Dies, restarts=1)
    host.reset()
    host.step(STILL)
    with pytest.warns(
        EnvironmentWarning, match=r"its process died \(by SIGKILL\); a new episode begins \(restart 1 of 1"
    ):
        step = host.step(STILL)
    assert (step.truncated.all(), step.valid.any(), step.observation[0, 1]) == (True, False, 0)
    assert host.step(STILL).valid.all()
    with pytest.raises(EnvironmentFailed, match=r"its process died \(by SIGKILL\)"):
        host.step(STILL)
    host.close()


def test_it_is_not_stopped_before_the_one_that_trains() -> None:
    """A batch system at the end of a job's time, and Ctrl-C, send their signals to all of its processes at once."""
    host = isolated("Pendulum-v1")
    host.reset()
    for stop in (signal.SIGTERM, signal.SIGINT):
        os.kill(process_of(host), stop)
        assert host.step(STILL).valid.all()
    process = process_of(host)
    host.close()
    assert not is_there(process)


def test_what_is_raised_and_what_is_odd_arrives() -> None:
    host = isolated(hostile.Raises)
    host.reset()
    host.step(STILL)
    with pytest.raises(EnvironmentFailed, match=r"step\(\) raised ZeroDivisionError: the wheel came off") as caught:
        host.step(STILL)
    assert "in step" in caught.value.__cause__.__notes__[0]  # pyright: ignore[reportOptionalMemberAccess]
    host.close()
    for kind, message in [
        (hostile.NotNumbers, "observation is dict .*not an array of numbers"),
        (hostile.OldApi, r"step\(\) gave 4 values"),
    ]:
        host = isolated(kind, restarts=5)
        host.reset()
        with pytest.raises(EnvironmentFailed, match=message):
            host.step(STILL)
        host.close()


def test_discrete_actions_arrive_as_the_integers_they_were() -> None:
    host = isolated("CartPole-v1")
    host.reset()
    assert host.step(np.array([1])).valid.all()
    host.close()


def test_what_cannot_be_made_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot be sent there .*pass its id, or a function at the top of a module"):
        isolated(lambda: hostile.Line())
    for env in (hostile.Line(), SyncVectorEnv([hostile.Line])):
        with pytest.raises(ValueError, match="a timeout needs an environment that can be made in a process of its own"):
            isolated(env)
    with pytest.raises(ValueError, match="close to it are 'Pendulum-v1'"):
        isolated("Pendulun-v1")
    with pytest.raises(ValueError, match="timeout is 0"):
        isolated(hostile.Line, 0.0)
    with pytest.raises(TypeError, match=r"env made int, not a gymnasium\.Env"):
        isolated(partial(int, 3))


def test_an_id_that_is_registered_here_only() -> None:
    gymnasium.register("Line-v0", hostile.Line, max_episode_steps=2)
    try:
        host = isolated("Line-v0")
        host.reset()
        assert [bool(host.step(STILL).truncated[0]) for _ in range(2)] == [False, True]
        host.close()
    finally:
        del gymnasium.registry["Line-v0"]
