"""What the specification of a Gymnasium environment tells of it."""

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv

from bayesbellman.compat.gymnasium.spaces import AnyEnv


def id_of(env: AnyEnv) -> str | None:
    """Under which Gymnasium has made it, whatever with; of a vector environment, that of each in it. None without."""
    if own := getattr(env, "own_name", ""):  # in another process: its id, or the name of its class
        return own if own in gymnasium.registry else None
    if (spec := spec_of(env)) is not None:
        return spec.id
    parts = getattr(env.unwrapped, "envs", ()) if isinstance(env, VectorEnv) else ()
    ids = {id_of(part) for part in parts}
    return ids.pop() if len(ids) == 1 else None


def spec_of(env: AnyEnv) -> EnvSpec | None:
    spec = getattr(env, "spec", None)
    return spec if isinstance(spec, EnvSpec) else None
