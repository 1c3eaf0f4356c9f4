"""What a user calls an environment on the command line, as a function that makes one."""

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium

from bayesbellman.compat.gymnasium.adapter import AsGymnasium
from bayesbellman.compat.gymnasium.make import made_by_id
from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.registry import is_ours, make_env


def named(name: str, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """From a name of ours, an id of Gymnasium's, or ``module:Class``, which imports the module.

    ``arguments`` are passed to what makes it.
    """
    if is_ours(name):
        if arguments:
            raise ValueError(f"--arguments: {name} is ours, and made without any")
        make_env(name)  # an error, if its number is none of its family's
        return lambda: AsGymnasium(make_env(name))
    module, _, attribute = name.partition(":")
    if not attribute:
        made_by_id(name, **arguments).close()  # an error with near names, if there is none of this one
        return partial(made_by_id, name, **arguments)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"ENV: the module of {name!r} cannot be imported ({error})") from error
    make = getattr(found, attribute, None)
    if make is None and attribute in gymnasium.registry:  # the module has registered it
        return partial(made_by_id, name, **arguments)
    if not callable(make):
        raise ValueError(f"ENV: {module} has no class or function {attribute!r} that makes an environment")
    return partial(_call, make, dict(arguments))


def _call(make: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    env = make(**arguments)
    return AsGymnasium(env) if isinstance(env, AbstractControlEnv) else env
