"""What the settings of pure objects may be, and the error where they are not."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np


class Limit(NamedTuple):
    """Accepted numbers, in words and as a test. nan passes none."""

    accepted: str
    holds: Callable[[float], bool]


POSITIVE = Limit("a finite number > 0", lambda x: 0 < x < math.inf)
NOT_NEGATIVE = Limit("a finite number >= 0", lambda x: 0 <= x < math.inf)
FINITE = Limit("a finite number", math.isfinite)
PROBABILITY = Limit("a number from 0 to 1", lambda x: 0 <= x <= 1)
SHARE = Limit("a number > 0 and <= 1", lambda x: 0 < x <= 1)
COUNT = Limit("a number >= 1", lambda x: x >= 1)
SIZE = Limit("a number > 0, inf too", lambda x: x > 0)


def refuse_beyond(limits: Mapping[str, Limit], settings: object) -> None:
    """Of those settings that it has. What differs from run to run in one program has no one value to look at."""
    for name, limit in limits.items():
        refuse_number(name, getattr(settings, name, None), limit)


def refuse_number(name: str, value: object, limit: Limit) -> None:
    one = isinstance(value, float | int | np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if one and not limit.holds(float(value)):  # pyright: ignore[reportArgumentType]
        raise ValueError(f"{name} is {value}; accepted is {limit.accepted}")
