"""A host environment from whatever names or makes one."""

from collections.abc import Callable
from difflib import get_close_matches

import gymnasium

from bayesbellman.compat.gymnasium.check import check_environment
from bayesbellman.compat.gymnasium.faults import EnvironmentWarning
from bayesbellman.compat.gymnasium.host import BadValues, HostEnv
from bayesbellman.compat.gymnasium.spaces import AnyEnv
from bayesbellman.core.errors import warn
from bayesbellman.envs.registry import ENVIRONMENTS


def make_host_env(
    env: str | AnyEnv | Callable[[], AnyEnv],
    num_envs: int = 1,
    *,
    seed: int = 0,
    bad_values: BadValues = "raise",
    restarts: int = 0,
    check: bool = True,
) -> HostEnv:
    """A `HostEnv` of an id that Gymnasium knows, an environment, a vector environment, or a function that makes one.

    ``check``: play a few dozen random actions first, and warn of what `check_environment` finds. Without it where such
    actions could do harm.
    """
    if isinstance(env, str):
        by_id, env = env, lambda: _made(by_id)
    host = HostEnv(env, num_envs, seed=seed, bad_values=bad_values, restarts=restarts)
    if check and (findings := check_environment(host.first, seed)):
        listed = "\n".join(f"- {finding}" for finding in findings)
        warn(f"{host.name} does not do all that Gymnasium asks of an environment:\n{listed}", EnvironmentWarning)
    return host


def _made(name: str) -> gymnasium.Env:
    try:
        # Gymnasium's own checker looks at every step, and knows less of what matters here than `check_environment`.
        return gymnasium.make(name, disable_env_checker=True)
    except gymnasium.error.DependencyNotInstalled as error:
        raise ModuleNotFoundError(f"env: {name!r} needs a package that is not installed: {error}") from error
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        close = get_close_matches(name, [*gymnasium.registry, *ENVIRONMENTS], n=3)
        hint = (
            f"; close to it are {', '.join(map(repr, close))}" if close else "; gymnasium.pprint_registry() lists all"
        )
        raise ValueError(f"env: Gymnasium cannot make {name!r} ({str(error).rstrip('.')}){hint}") from error
