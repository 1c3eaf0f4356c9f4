"""What the specification of a Gymnasium environment tells: its id, and how to make it again."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import PassiveEnvChecker

from bayesbellman.compat.gymnasium.spaces import AnyEnv

NOT_AGAIN = "the environment cannot be made again for evaluation{why}; pass its name or a function that makes it"
BEGIN_ANEW = ("NormalizeObservation", "NormalizeReward", "RecordVideo")
"""Wrappers that would be others if they were made again: without their statistics, or over their own files"""


def id_of(env: AnyEnv) -> str | None:
    """Under which Gymnasium has made it, whatever with; of a vector environment, that of each in it. None without."""
    if own := getattr(env, "own_name", ""):  # in another process: its id, or the name of its class
        return own if own in gymnasium.registry else None
    if (spec := _spec_of(env)) is not None:
        return spec.id
    parts = getattr(env.unwrapped, "envs", ()) if isinstance(env, VectorEnv) else ()
    ids = {id_of(part) for part in parts}
    return ids.pop() if len(ids) == 1 else None


def sufficient_id(env: AnyEnv) -> str | None:
    """Its id, if that alone makes one like it; None for one with arguments, wrappers or a time limit of its own."""
    spec, layers = _spec_of(env), _layers(env)
    registered = None if spec is None else gymnasium.registry.get(spec.id)
    if spec is None or registered is None or len(set(layers)) < len(layers):  # of two time limits it tells one
        return None
    try:
        return spec.id if _essence(spec) == _essence(registered) else None
    except ValueError:  # arrays among the arguments are neither equal nor not
        return None


def maker_again(env: AnyEnv) -> Callable[[], gymnasium.Env] | None:
    """What makes another like this one; None where it does not tell how it was made."""
    return None if _spec_of(env) is None or isinstance(env, VectorEnv) else partial(_made_again, env)


def _made_again(env: gymnasium.Env) -> gymnasium.Env:
    """With the same arguments, time limit and wrappers, or an error."""
    spec, layers = _spec_of(env), _layers(env)
    assert spec is not None
    if changed := [kind.__name__ for kind in layers if kind.__name__ in BEGIN_ANEW]:
        raise RuntimeError(NOT_AGAIN.format(why=f" ({', '.join(changed)} would begin anew)"))
    try:
        made = gymnasium.make(spec, disable_env_checker=True)
    except Exception as error:  # whatever a wrapper or an environment may raise
        raise RuntimeError(NOT_AGAIN.format(why=f" ({str(error).rstrip('.')})")) from error
    if _layers(made) != layers:
        made.close()
        raise RuntimeError(NOT_AGAIN.format(why=" (its specification does not tell all of its wrappers)"))
    return made


def _spec_of(env: AnyEnv) -> EnvSpec | None:
    spec = getattr(env, "spec", None)
    return spec if isinstance(spec, EnvSpec) else None


def _layers(env: AnyEnv) -> list[type]:
    """The classes of its wrappers and its own, from outside; without Gymnasium's checker, which changes nothing."""
    kinds, inner = [], env
    while isinstance(inner, gymnasium.Wrapper):
        kinds.append(type(inner))
        inner = inner.env
    return [kind for kind in (*kinds, type(inner)) if kind is not PassiveEnvChecker]


def _essence(spec: EnvSpec) -> Any:
    """Without what makes no difference to an agent."""
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    return dataclasses.replace(spec, kwargs=kwargs, disable_env_checker=True, order_enforce=True)
