"""Looking on while an agent learns, and ending it."""

import jax
import numpy as np
import pytest
from tests.sizes import SIZES

import bayesbellman as bb
from bayesbellman.doors.callbacks import Progress, as_callbacks, go_on


class Noting(bb.Callback):
    def __init__(self) -> None:
        self.noted: list = []

    def on_chunk(self, agent, progress: Progress) -> None:
        self.noted.append(progress.steps)

    def on_episode(self, agent, episode_return: float) -> None:
        self.noted.append(episode_return)


def told(*returns: float) -> Progress:
    return Progress(10, np.array(returns), {})


def test_each_is_told_and_one_is_enough_to_end() -> None:
    noting = Noting()
    several = as_callbacks([noting, lambda agent, progress: progress.steps < 10])
    assert not go_on(several, None, told(1.0, 2.0))  # pyright: ignore[reportArgumentType]
    assert noting.noted == [1.0, 2.0, 10]
    assert go_on(as_callbacks(None), None, told())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        (False, True),
        (np.bool_(False), True),
        (jax.numpy.asarray(False), True),
        (True, False),
        (np.bool_(True), False),
        (None, False),
        (0, False),
    ],
)
def test_false_is_false_whoever_says_it(answer, ends: bool) -> None:
    assert go_on(as_callbacks(lambda agent, progress: answer), None, told()) is not ends  # pyright: ignore[reportArgumentType]


def test_stopping_at_a_return() -> None:
    stop = bb.StopAtReturn(5.0, episodes=2)
    answers = [stop.on_episode(None, value) for value in (9.0, 0.0, 4.0, 6.0)]  # pyright: ignore[reportArgumentType]
    assert answers == [True, True, True, False]
    with pytest.raises(ValueError, match="episodes is 0"):
        bb.StopAtReturn(5.0, episodes=0)
    for bad in ("a", None, True):
        with pytest.raises(TypeError, match=r"target is .*; accepted is a number"):
            bb.StopAtReturn(bad)  # pyright: ignore[reportArgumentType]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"target is .*; accepted is a finite number"):
            bb.StopAtReturn(bad)
    with pytest.raises(TypeError, match="episodes is 'ten'"):
        bb.StopAtReturn(5.0, "ten")  # pyright: ignore[reportArgumentType]


def test_what_is_no_callback_is_refused() -> None:
    with pytest.raises(TypeError, match="callback is 3; accepted are functions"):
        bb.SAC("MountainCarContinuous-v0", **SIZES).learn(10, callback=3)  # pyright: ignore[reportArgumentType]


def test_an_agent_tells_them() -> None:
    noting = Noting()
    with jax.numpy_dtype_promotion("standard"):
        bb.SACStar("MountainCarContinuous-v0", **SIZES).learn(60, callback=noting)
    assert noting.noted == [50, 60]
