"""Environments that do wrong, each in one way."""

import os
import signal
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Line(gymnasium.Env):
    """Does nothing wrong. Observations are (start, steps taken); an episode terminates after ``length`` steps.

    The start is drawn from 0 to 999 at each reset; the reward is 10 times the start and the steps taken. Actions are
    from -2 to 4, and kept.
    """

    observation_space: Box
    action_space: Any

    def __init__(self, length: int = 3, truncates: bool = False) -> None:
        self.length, self.truncates = length, truncates
        self.observation_space = Box(0.0, 1000.0, (2,), np.float32)
        self.action_space = Box(-2.0, 4.0, (1,), np.float32)
        self.actions: list[np.ndarray] = []
        self.seeds: list[int | None] = []
        self.closed = False

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.start, self.time = int(self.np_random.integers(1000)), 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.actions.append(np.array(action))
        self.time += 1
        ended = self.time >= self.length
        return self.seen(), 10.0 * self.start + self.time, ended and not self.truncates, ended and self.truncates, {}

    def seen(self) -> Any:
        return np.array([self.start, self.time], dtype=np.float32)

    def close(self) -> None:
        self.closed = True


class WritesIntoItsAction(Line):
    def step(self, action: Any) -> Any:
        result = super().step(action)
        action[:] = 7.0
        return result


class EndsBothWays(Line):
    def step(self, action: Any) -> Any:
        observation, reward, ended, _, info = super().step(action)
        return observation, reward, ended, ended, info


class BadReward(Line):
    value: Any = np.nan

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return (observation, self.value if self.time == 2 else reward, *rest)


class BadObservation(Line):
    value = np.inf

    def seen(self) -> Any:
        return np.array([self.start, self.value if self.time == 2 else self.time], dtype=np.float32)


class BadStart(Line):
    def seen(self) -> Any:
        return np.array([self.start, np.nan if self.time == 0 else self.time], dtype=np.float32)


class Raises(Line):
    """In the second step of episodes that are the first of an instance."""

    resets = 0

    def reset(self, **given: Any) -> tuple[Any, dict]:
        self.resets += 1
        return super().reset(**given)

    def step(self, action: Any) -> Any:
        if self.resets == 1 and self.time == 1:
            raise ZeroDivisionError("the wheel came off")
        return super().step(action)


class RaisesInClose(Line):
    """Every time, as wrappers do that have closed their window already."""

    def close(self) -> None:
        super().close()
        raise OSError("no window")


class NeedsTwoAttempts(Raises):
    """Raises in a step, and then once more while another is made."""

    made = 0

    def __init__(self, length: int = 3) -> None:
        NeedsTwoAttempts.made += 1
        if NeedsTwoAttempts.made == 2:
            raise ConnectionError("still starting")
        super().__init__(length)


class Hangs(Line):
    """In its second step."""

    def step(self, action: Any) -> Any:
        if self.time == 1:
            time.sleep(300)
        return super().step(action)


class Dies(Line):
    """In its second step, as by a fault in some C code."""

    def step(self, action: Any) -> Any:
        if self.time == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class RaisesInLongEpisodes(Line):
    """In the third step of every second episode."""

    resets = 0

    def reset(self, **given: Any) -> tuple[Any, dict]:
        RaisesInLongEpisodes.resets += 1
        return super().reset(**given)

    def step(self, action: Any) -> Any:
        if self.time == 2 and RaisesInLongEpisodes.resets % 2:
            raise ZeroDivisionError("the wheel came off")
        observation, _, *rest = super().step(action)
        return (observation, 1.0, *rest)


class RaisesInReset(Line):
    def reset(self, **given: Any) -> tuple[Any, dict]:
        raise OSError("no such robot")


class RaisesInLaterReset(Line):
    """In its second one only."""

    def reset(self, **given: Any) -> tuple[Any, dict]:
        result = super().reset(**given)
        if len(self.seeds) == 2:
            raise OSError("stuck")
        return result


class WrongShape(Line):
    def seen(self) -> Any:
        return np.zeros(3 if self.time == 1 else 2, dtype=np.float32)


class WrongDtype(Line):
    def seen(self) -> Any:
        return np.array([self.start, self.time], dtype=np.float64)


class NotNumbers(Line):
    def seen(self) -> Any:
        return {"start": self.start} if self.time else super().seen()


class Outside(Line):
    def seen(self) -> Any:
        return np.array([self.start, -5.0 * self.time], dtype=np.float32)


class OldApi(Line):
    def step(self, action: Any) -> Any:
        observation, reward, ended, _, info = super().step(action)
        return observation, reward, ended, info


class ResetWithoutInfo(Line):
    def reset(self, **given: Any) -> Any:
        return super().reset(**given)[0]


class ResetWithoutSeed(Line):
    def reset(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().reset()


class UnseededNoise(Line):
    def seen(self) -> Any:
        return np.array([self.start, np.random.default_rng().uniform(0, 100)], dtype=np.float32)


class UnseededLater(Line):
    """The start is by the seed; what follows is not."""

    def seen(self) -> Any:
        noise = np.random.default_rng().uniform(0, 100) if self.time else 0
        return np.array([self.start, noise], dtype=np.float32)


class BeginsByItself(Line):
    """Answers a step that comes before the first reset."""

    start, time = 7, 0


class CannotBeCopied(Line):
    def __init__(self) -> None:
        super().__init__()
        self.device = (number for number in range(3))  # as a connection would be


class SharesItsState(Line):
    """A copy of it is no copy: what it counts is not its own."""

    count = 0

    def step(self, action: Any) -> Any:
        SharesItsState.count += 1
        return super().step(action)

    def seen(self) -> Any:
        return np.array([self.start, SharesItsState.count % 7], dtype=np.float32)


class NeverEnds(Line):
    def __init__(self) -> None:
        super().__init__(length=10**9)

    def seen(self) -> Any:
        return np.array([self.start, 0], dtype=np.float32)


class CannotBeMade(Line):
    def __init__(self, size: int) -> None:
        super().__init__(size)


class ArrayReward(Line):
    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return (observation, np.array([reward]), *rest)


class ResetsItself(Line):
    def step(self, action: Any) -> Any:
        result = super().step(action)
        if self.time >= self.length:
            self.start, self.time = 5, 0
        return result


class Exits(Line):
    def step(self, action: Any) -> Any:
        if self.time == 1:
            raise SystemExit(0)
        return super().step(action)
