"""An episode of an agent as an animated picture: of our environments drawn here, of Gymnasium's as they render."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.doors.agent import Agent
from bayesbellman.doors.players import LONGEST
from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.registry import make_env
from bayesbellman.experiments.training.drawings import DRAWN, Frame, drawing_of

MOST_FRAMES = 200
FRAME_MS, SLOW_MS = 40, 400
"""How long each is shown: of a short episode longer"""
SHORT_MS = 3_000
"""An episode is shown so long, if its frames may be that slow"""


class Moment(NamedTuple):
    """An instant of an episode: how to picture it, and the return until then."""

    picture: Callable[[str], Frame]
    gathered: float


def check_video(path: Path, agent: Agent) -> None:
    """Say before an episode is played that its video could not be made."""
    import PIL.Image  # noqa: F401  (missing, it is named with its extra)

    if path.suffix.lower() != ".gif":
        raise ValueError(f"--video is {path}; accepted is the name of a .gif file")
    if path.exists():
        raise FileExistsError(f"--video {path} exists; name another file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--video {path}: there is no folder {path.parent}")
    if agent.training is None:
        _check_rendering(agent)
    elif drawing_of(agent.training.env) is None:
        raise ValueError(f"--video: nobody has drawn {agent.env_name}; {DRAWN}")


def _check_rendering(agent: Agent) -> None:
    """Render once: what that needs is a package of its own, which nothing else asks for."""
    import gymnasium

    name = agent.env_name
    assert name is not None
    with contextlib.closing(gymnasium.spec(name.rpartition(":")[2]).make()) as plain:
        if "rgb_array" not in plain.metadata.get("render_modes", ()):
            raise ValueError(f"--video: {name} has no render mode 'rgb_array'")
    try:
        with contextlib.closing(_rendered(name)) as env:
            env.reset()
            env.render()
    except gymnasium.error.DependencyNotInstalled as error:
        raise RuntimeError(f"--video: {name} cannot be rendered here: {error}") from error


def _rendered(name: str) -> Any:
    """A Gymnasium environment whose pictures can be asked for."""
    import gymnasium

    return gymnasium.make(name, render_mode="rgb_array", disable_env_checker=True)


def write_video(path: Path, agent: Agent, episodes: int, seed: int) -> float:
    """The first of the episodes that ``agent.evaluate(episodes, seed=seed)`` plays, as a GIF; returns its return."""
    from PIL import Image

    moments: list[tuple[Frame, int]] = []
    ours = agent.training is not None
    episode = _compiled(agent, episodes, seed) if ours else _gymnasium(agent, seed)
    keep, gathered = 1, 0.0
    for step, moment in enumerate(episode):
        gathered = moment.gathered
        if step % keep == 0:
            moments.append((moment.picture(f"step {step}, return {gathered:.1f}"), step))
        if len(moments) > MOST_FRAMES:  # an episode twice as long as thought: every other one goes
            moments, keep = moments[::2], 2 * keep
    images = [Image.fromarray(frame) for frame, _ in moments]
    pace = min(SLOW_MS, max(FRAME_MS, SHORT_MS // len(images)))
    durations = [pace] * (len(images) - 1) + [1000]
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0)
    return gathered


def _compiled(agent: Agent, episodes: int, seed: int) -> Iterator[Moment]:
    """With the random numbers that `Training.evaluate` gives to its first episode."""
    assert agent.env_name is not None
    env: AbstractControlEnv = make_env(agent.env_name)
    draw = drawing_of(env)
    assert draw is not None
    reset_key, step_key = jax.random.split(jax.random.key(seed))
    state = env.reset(jax.random.split(reset_key, episodes)[0])
    advance, observe = jax.jit(env.step), jax.jit(env.observe)
    gathered = 0.0

    def moment() -> Moment:
        here = state
        return Moment(lambda caption: draw(here, caption), gathered)

    yield moment()
    for time in range(LONGEST):
        key = jax.random.split(jax.random.fold_in(step_key, time), episodes)[0]
        action, _ = agent.predict(np.asarray(observe(state)), deterministic=True)
        outcome = advance(key, state, jnp.asarray(action))
        state, gathered = outcome.state, gathered + float(outcome.reward)
        yield moment()
        if outcome.terminated or outcome.truncated:
            return


def _gymnasium(agent: Agent, seed: int) -> Iterator[Moment]:
    assert agent.env_name is not None
    env = _rendered(agent.env_name)

    def picture(caption: str) -> Frame:
        return np.asarray(env.render(), np.uint8)[..., :3]

    try:
        observation, _ = env.reset(seed=seed)
        gathered = 0.0
        yield Moment(picture, gathered)
        for _ in range(LONGEST):
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            gathered += float(reward)
            yield Moment(picture, gathered)
            if terminated or truncated:
                return
    finally:
        env.close()
