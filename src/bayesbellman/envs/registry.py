"""Our environments for agents, by name."""

from collections.abc import Callable
from difflib import get_close_matches

from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.probes import PROBES

ENVIRONMENTS: dict[str, Callable[[], AbstractControlEnv]] = {
    "MountainCarContinuous-v0": MountainCar,  # under Gymnasium's name: the dynamics are Gymnasium's
    "cartpole-swingup-sparse": CartPole,
    "cartpole-swingup-sparse-dm": lambda: CartPole(reward="dm_control"),
    **{f"probe-{name}": lambda probe=probe: probe for name, probe in PROBES.items()},
}


def make_env(name: str) -> AbstractControlEnv:
    """One of `ENVIRONMENTS`, with its settings as they are."""
    if name not in ENVIRONMENTS:
        close = get_close_matches(name, ENVIRONMENTS, n=1)
        hint = f". Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"name: no environment of ours is called {name!r}; there are {', '.join(ENVIRONMENTS)}{hint}")
    return ENVIRONMENTS[name]()
