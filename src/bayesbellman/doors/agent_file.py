"""An agent as one file: networks, optimisers and settings, each array hashed. Nothing in it is executed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from bayesbellman._version import __version__
from bayesbellman.envs.spaces import Box, Discrete
from bayesbellman.runs.arrays import read_arrays, write_arrays
from bayesbellman.runs.trees import Mismatch, named_arrays, tree_like

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent

FORMAT = 1
OF_A_RUN = "agent.bbo"
"""In a folder that ``bbo train`` left"""
LEARNT_WITH = ("hidden", "activation", "ensemble_size", "num_critics", "prior_scale", "scale_observations")
"""Settings that make a function of networks' parameters: with others what was learnt would mean something else"""
MOST_MORE = 1_000_000
"""Numbers that settings may ask for beyond what a file holds, so that it can be said what does not fit"""
Door = TypeVar("Door", bound="Agent")


def write_agent(agent: "Agent", state: Any, path: Path) -> Path:
    """The agent with this state of the pure agent; returns where it is."""
    path = _with_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)  # what was learnt is not lost for want of a folder
    about = {
        "format": FORMAT,
        "version": __version__,
        "agent": type(agent).__name__,
        "settings": agent.settings(),
        "env": agent.env_name,
        "steps": agent.num_timesteps,
        **_spaces(agent),
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_arrays(path, {"about": text, **named_arrays(state)})
    return path


def read_agent(
    cls: type[Door], kinds: Mapping[str, type["Agent"]], path: Path, env: Any, changes: Mapping[str, Any]
) -> Door:
    """The agent of a file, if it is a ``cls``; ``kinds``: all that there are, by name."""
    path = _file_meant(path)
    arrays = read_arrays(path)
    try:
        about = json.loads(arrays.pop("about").tobytes())
        name, settings, steps = str(about["agent"]), dict(about["settings"]), int(about["steps"])
        if not isinstance(about["env"], str | None):
            raise TypeError("its environment has no name")
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path} was not written by an agent's save ({error!r})") from error
    if about.get("format") != FORMAT:
        raise ValueError(f"{path} has format {about.get('format')}, this version reads {FORMAT}")
    kind = kinds.get(name)
    if kind is None or not issubclass(kind, cls):
        raise ValueError(f"{path} holds a {name}, not a {cls.__name__}; load it with bb.{name}.load")
    passing = f"pass it as env: bb.{name}.load(path, env=...) or, if it has a name, bbo evaluate --env NAME"
    if env is None and ":" in str(about["env"]):
        raise ValueError(f"{path} names the environment {about['env']!r}, which would import code; {passing}")
    if env is None and about["env"] is None:
        raise ValueError(f"{path} does not name its environment; {passing}")
    agent = kind(about["env"] if env is None else env, **kind.changed(settings, changes))
    _refuse_other_functions(path, settings, agent.settings())
    _refuse_other_spaces(path, about, agent)
    _refuse_to_grow(path, agent, arrays)
    start = agent.pure.init(jax.random.key(0), agent.spaces)
    try:
        state = tree_like(start, arrays)
    except Mismatch as error:
        where = agent.env_name or "this environment"
        raise ValueError(f"{path} does not fit {where} and its settings: {error}") from error
    # observations are scaled as this environment and these settings say, not as those of the file
    agent.stand_at(eqx.tree_at(lambda s: s.scaling, state, start.scaling), steps)
    return agent


def _spaces(agent: "Agent") -> dict[str, int | None]:
    """As a file has them."""
    action = agent.spaces.action
    return {
        "observation_size": agent.spaces.observation.size,
        "action_size": action.size if isinstance(action, Box) else None,
        "num_actions": action.number if isinstance(action, Discrete) else None,
    }


def _refuse_other_functions(path: Path, learnt: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    for name in (name for name in LEARNT_WITH if name in learnt):
        was, given = (json.loads(json.dumps(settings.get(name))) for settings in (learnt, asked))
        if was != given:
            raise ValueError(f"{name} is {given}; what {path} holds was learnt with {was}: leave it out")


def _refuse_other_spaces(path: Path, about: Mapping[str, Any], agent: "Agent") -> None:
    words = {"observation_size": "numbers in an observation", "action_size": "in an action", "num_actions": "actions"}
    for name, size in _spaces(agent).items():
        if name in about and about[name] != size:
            where = agent.env_name or "this environment"
            raise ValueError(
                f"{path} does not fit {where}, which has {size or 'no'} {words[name]}; it was learnt on"
                f" {about.get('env') or 'another'}, which has {about[name] or 'no'}"
            )


def _refuse_to_grow(path: Path, agent: "Agent", arrays: Mapping[str, np.ndarray]) -> None:
    """Settings that would take far more memory than what the file holds are no agent's; nothing is made of them."""
    made = jax.eval_shape(lambda: agent.pure.init(jax.random.key(0), agent.spaces))
    asked, held = sum(leaf.size for leaf in jax.tree.leaves(made)), sum(array.size for array in arrays.values())
    if asked > 10 * held + MOST_MORE:
        raise ValueError(f"{path} does not fit its settings: they ask for {asked:,} numbers, and it holds {held:,}")


def _file_meant(path: Path) -> Path:
    """The file itself, the one that `write_agent` makes of this name, or that of a folder that ``bbo train`` left."""
    if not path.is_dir():
        return path if path.exists() else _with_suffix(path)
    if (saved := _with_suffix(path)).is_file():
        return saved
    if (path / OF_A_RUN).is_file():
        return path / OF_A_RUN
    if seeds := sorted(path.glob(f"seed-*/{OF_A_RUN}")):
        raise ValueError(f"{path} holds several seeds; name one: {', '.join(str(file.parent) for file in seeds)}")
    raise FileNotFoundError(f"{path} is a folder without {OF_A_RUN}; name a file of save, or a folder of bbo train")


def _with_suffix(path: Path) -> Path:
    return path if path.suffix else path.with_suffix(".bbo")
