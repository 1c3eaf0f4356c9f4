"""A host environment from whatever names or makes one."""

import contextlib
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from bayesbellman.compat.gymnasium.check import check_environment
from bayesbellman.compat.gymnasium.faults import EnvironmentWarning
from bayesbellman.compat.gymnasium.host import BadValues, HostEnv
from bayesbellman.compat.gymnasium.isolated import Isolated, maker_of
from bayesbellman.compat.gymnasium.spaces import AnyEnv
from bayesbellman.core.errors import warn
from bayesbellman.envs.registry import names


def make_host_env(
    env: str | AnyEnv | Callable[[], AnyEnv],
    num_envs: int = 1,
    *,
    seed: int = 0,
    bad_values: BadValues = "raise",
    restarts: int = 0,
    timeout: float | None = None,
    check: bool = True,
) -> HostEnv:
    """A `HostEnv` of an id that Gymnasium knows, an environment, a vector environment, or a function that makes one.

    ``check``: play a few dozen random actions first, and warn of what `check_environment` finds. Without it where such
    actions could do harm.

    ``timeout``: each environment gets a process of its own, which is ended when a step or a reset takes longer than so
    many seconds, as it is when it dies; both count as exceptions. For an id, or a function of a module. A step then
    takes some 0.3 ms more.
    """
    if timeout is not None:
        env = partial(Isolated, _sendable(env), timeout)
    if isinstance(env, str):
        by_id, env = env, lambda: made_by_id(by_id)
    host = HostEnv(env, num_envs, seed=seed, bad_values=bad_values, restarts=restarts)
    if check and (findings := check_environment(host.first, seed)):
        listed = "\n".join(f"- {finding}" for finding in findings)
        warn(f"{host.name} does not do all that Gymnasium asks of an environment:\n{listed}", EnvironmentWarning)
    return host


def _sendable(env: str | AnyEnv | Callable[[], AnyEnv]) -> Callable[[], gymnasium.Env]:
    """What can make the environment in another process."""
    if isinstance(env, str):
        with contextlib.suppress(ModuleNotFoundError):
            if (maker := maker_of(env)) is not None:
                return maker
        with contextlib.closing(made_by_id(env)) as made:  # a name without its version; or an error with near ones
            assert made.spec is not None
            return partial(gymnasium.make, made.spec, disable_env_checker=True)
    if isinstance(env, gymnasium.Env | VectorEnv) or not callable(env):
        raise ValueError(
            f"env: a timeout needs an environment that can be made in a process of its own, got {type(env).__name__};"
            " pass its id, or a function at the top of a module"
        )
    return env  # pyright: ignore[reportReturnType] (checked where it is made)


def made_by_id(name: str, **arguments: Any) -> gymnasium.Env:
    """Gymnasium's, or an error that says which id is close."""
    try:
        # Gymnasium's own checker looks at every step, and knows less of what matters here than `check_environment`.
        return gymnasium.make(name, disable_env_checker=True, **arguments)
    except gymnasium.error.DependencyNotInstalled as error:
        raise ModuleNotFoundError(f"env: {name!r} needs a package that is not installed: {error}") from error
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        close = get_close_matches(name, sorted({*gymnasium.registry, *names()}), n=3)
        hint = (
            f"; close to it are {', '.join(map(repr, close))}" if close else "; gymnasium.pprint_registry() lists all"
        )
        raise ValueError(f"env: Gymnasium cannot make {name!r} ({str(error).rstrip('.')}){hint}") from error
