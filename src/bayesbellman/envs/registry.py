"""Our environments for agents, by name; some names end with a number, ``deep-sea-10``."""

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple

from bayesbellman.envs.acrobot import AcrobotSparse
from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.cart_pole_balance import CartPoleBalance
from bayesbellman.envs.cart_pole_swing_up import SETTINGS, bsuite_swing_up
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import MountainCar, MountainCarDiscrete
from bayesbellman.envs.pendulum import PendulumSparse
from bayesbellman.envs.probes import DISCRETE_PROBES, PROBES

ENVIRONMENTS: dict[str, Callable[[], AbstractControlEnv]] = {
    "MountainCarContinuous-v0": MountainCar,  # these three under Gymnasium's names: the dynamics are Gymnasium's
    "MountainCar-v0": MountainCarDiscrete,
    "CartPole-v1": CartPoleBalance,
    "cartpole-swingup-sparse": CartPole,
    "cartpole-swingup-sparse-dm": lambda: CartPole(reward="dm_control"),
    "pendulum-swingup-sparse": PendulumSparse,
    "acrobot-swingup-sparse": AcrobotSparse,
    "bsuite-cartpole-swingup": bsuite_swing_up,
    **{f"probe-{name}": lambda probe=probe: probe for name, probe in PROBES.items()},
    **{f"probe-discrete-{name}": lambda probe=probe: probe for name, probe in DISCRETE_PROBES.items()},
}


class Family(NamedTuple):
    """Environments whose names differ in the number N at their end."""

    make: Callable[[int], AbstractControlEnv]
    numbers: range
    """What N may be"""


FAMILIES: dict[str, Family] = {
    "deep-sea": Family(DeepSea, range(2, 101)),
    "deep-sea-stochastic": Family(partial(DeepSea, stochastic=True), range(2, 101)),
    "bsuite-cartpole-swingup": Family(bsuite_swing_up, range(SETTINGS)),
}


def names() -> list[str]:
    """All there are, as messages list them: a family is one, with N for its number."""
    return [*ENVIRONMENTS, *(f"{family}-N" for family in FAMILIES)]


def is_ours(name: str) -> bool:
    """Whether the name is one of ours or of a family of ours: with a number that `make_env` refuses it still is."""
    return name in ENVIRONMENTS or _family(name) is not None


def make_env(name: str) -> AbstractControlEnv:
    """One of `ENVIRONMENTS` or `FAMILIES`, with its settings as they are."""
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]()
    if (found := _family(name)) is not None:
        family, number = found
        make, numbers = FAMILIES[family]
        if number not in numbers:
            raise ValueError(
                f"name: {name!r} has the number {number}; {family}-N is from {numbers[0]} to {numbers[-1]}"
            )
        return make(number)
    close = get_close_matches(name, [*ENVIRONMENTS, *FAMILIES], n=1)
    hint = f". Did you mean {close[0] if close[0] in ENVIRONMENTS else close[0] + '-N'!r}?" if close else ""
    raise ValueError(f"name: no environment of ours is called {name!r}; there are {', '.join(names())}{hint}")


def name_of(env: AbstractControlEnv) -> str | None:
    """The name under which `make_env` makes an environment with these settings; None if none does."""
    return next((name for name, made in _every() if type(made) is type(env) and repr(made) == repr(env)), None)


def _family(name: str) -> tuple[str, int] | None:
    """The family of a name, and its number: written as an integer is, without leading zeros."""
    match = re.fullmatch(r"(.+)-(0|[1-9]\d{0,8})", name, flags=re.ASCII)
    return (match[1], int(match[2])) if match and match[1] in FAMILIES else None


def _every() -> Iterator[tuple[str, AbstractControlEnv]]:
    yield from ((name, make()) for name, make in ENVIRONMENTS.items())
    yield from ((f"{name}-{n}", make(n)) for name, (make, numbers) in FAMILIES.items() for n in numbers)
