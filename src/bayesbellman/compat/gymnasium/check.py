"""A short trial of an environment: what it does that Gymnasium forbids, and what to do about it."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, NoReturn

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from bayesbellman.compat.gymnasium.faults import (
    RAISED,
    EnvironmentFailed,
    Place,
    read_flag,
    read_observation,
    read_reward,
    said,
    unpack,
)
from bayesbellman.compat.gymnasium.host import HostEnv
from bayesbellman.compat.gymnasium.spaces import Action, ActionScale, AnyEnv, name_of, raw_spaces
from bayesbellman.compat.gymnasium.vector import autoreset_mode

SEVERITIES = ("error", "warning", "note")
Severity = Literal["error", "warning", "note"]


class Finding(NamedTuple):
    """Something that is wrong, and its mending.

    An error: nothing right can be learnt. A warning: learning goes on, and something is lost. A note: worth knowing.
    """

    severity: Severity
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}"


def check_environment(env: str | AnyEnv | Callable[[], AnyEnv], seed: int = 0, steps: int = 30) -> list[str]:
    """What is wrong with an environment, each finding with its mending; nothing is found wrong with a good one.

    As `find_faults`, in words.
    """
    return [str(finding) for finding in find_faults(env, seed, steps)]


def find_faults(env: str | AnyEnv | Callable[[], AnyEnv], seed: int = 0, steps: int = 30) -> list[Finding]:
    """What is found wrong with an environment that is played for a while by random actions.

    An id or a function is used twice, so that two new environments are compared under one seed; an environment itself
    is reset to the same seed twice, and is left somewhere in an episode.
    """
    with warnings.catch_warnings(), _made(env) as first:
        warnings.simplefilter("ignore")  # what is worth saying is found below
        try:
            raw_spaces(first)
        except TypeError as error:
            what, _, fix = str(error).partition("; ")
            return [Finding("error", what, fix)]
        try:
            findings = _Trial(first, seed).run(steps) if isinstance(first, gymnasium.Env) else _mode(first)
            with contextlib.nullcontext(first) if isinstance(env, gymnasium.Env | VectorEnv) else _made(env) as second:
                findings += _parting(first, second, seed, steps)
        except _Broken as broken:
            findings = broken.findings
        except EnvironmentFailed as error:
            findings = [Finding("error", str(error), "mend that")]
    return list(dict.fromkeys(findings))


class _Broken(Exception):
    """No further step makes sense."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__()
        self.findings = findings


class _Trial:
    """One environment, played for a while by random actions."""

    def __init__(self, env: gymnasium.Env, seed: int) -> None:
        self.env, self.seed, self.spaces = env, seed, raw_spaces(env)
        self.findings: list[Finding] = []
        self.fixes: set[str] = set()
        self.scale = ActionScale(self.spaces.action)

    def run(self, steps: int) -> list[Finding]:
        self._look_for_wrapper()
        actions = random_actions(self.env, 1, self.seed, steps)
        self._reset(self.seed)
        for number, action in enumerate(actions):
            if self._step(number, self.scale(action, 1)[0]):
                self._step_after_the_end(number, self.scale(action, 1)[0])
                self._reset(None)
        return self.findings

    def _reset(self, seed: int | None) -> None:
        place = Place(name_of(self.env), None, self.seed, 0, None)
        fix = "write `def reset(self, *, seed=None, options=None)`, call super().reset(seed=seed), give (obs, info)"
        try:
            observation, _ = unpack("reset", self.env.reset(seed=seed), 2, place)
        except RAISED as error:
            self._give_up("reset", error, fix)
        self._look_at(observation, place)

    def _step(self, number: int, action: Action) -> bool:
        place = Place(name_of(self.env), None, self.seed, number, None, action)
        given = action.copy()
        try:
            result = self.env.step(given)
            observation, reward, terminated, truncated, _ = unpack("step", result, 5, place)
        except RAISED as error:
            self._give_up(
                "step", error, "give (observation, reward, terminated, truncated, info), new arrays each time"
            )
        if not np.array_equal(given, action):
            self._find("step() writes into its action", "copy it first: action = np.array(action)")
        self._look_at(observation, place)
        try:
            if not np.isfinite(read_reward(reward, place)):
                fix = "mend the reward, or pass bad_values='drop' or 'clip'"
                self._find(f"reward is {reward} at step {number}", fix, "error")
            if np.ndim(reward):  # pyright: ignore[reportArgumentType]
                self._find(f"reward has shape {np.shape(reward)}", "give float(reward)")  # pyright: ignore
            return read_flag("terminated", terminated, place) | read_flag("truncated", truncated, place)
        except EnvironmentFailed as error:
            self._give_up("step", error, "rewards are floats, terminated and truncated are bools")

    def _step_after_the_end(self, number: int, action: Action) -> None:
        try:
            result = self.env.step(action)
        except RAISED:
            return  # as it may
        if isinstance(result, tuple) and len(result) == 5 and not (result[2] or result[3]):
            self._find(
                f"after the end of an episode at step {number} it goes on without a reset",
                "if step() resets by itself, take that out: the true last observation is lost, and values with it",
                "error",
            )

    def _look_at(self, given: object, place: Place) -> None:
        space = self.spaces.observation
        try:
            observation = read_observation(given, space, place)
        except EnvironmentFailed as error:
            self._give_up("step", error, f"give an array of shape {space.shape} and {space.dtype}, as the space says")
        dtype = np.asarray(given).dtype
        if not np.can_cast(dtype, space.dtype):
            self._find(f"observation is {dtype}, its space {space.dtype}", f"give observation.astype(np.{space.dtype})")
        if not np.isfinite(observation).all():
            fix = "mend that, or pass bad_values='drop' or 'clip'"
            self._find(f"observation is {observation.tolist()}", fix, "error")
        elif not ((observation >= space.low.reshape(-1)) & (observation <= space.high.reshape(-1))).all():
            self._find(f"observation {observation.tolist()} is outside its space", "widen the bounds, or clip to them")

    def _look_for_wrapper(self) -> None:
        env = self.env
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, gymnasium.wrappers.Autoreset):
                self._find("it is wrapped in Autoreset", "leave that out: episodes are reset here", "error")
            env = env.env

    def _find(self, what: str, fix: str, severity: Severity = "warning") -> None:
        if fix not in self.fixes:  # one finding of a kind is enough
            self.fixes.add(fix)
            self.findings.append(Finding(severity, what, fix))

    def _give_up(self, method: str, error: BaseException, fix: str) -> NoReturn:
        what = str(error) if isinstance(error, EnvironmentFailed) else f"{method}() {said(error)}"
        raise _Broken([*self.findings, Finding("error", what, fix)]) from error


def _mode(env: VectorEnv) -> list[Finding]:
    try:
        autoreset_mode(env)
    except ValueError as error:
        what, _, fix = str(error).partition("; ")
        raise _Broken([Finding("error", what, fix)]) from error
    return []


def random_actions(env: AnyEnv, num_envs: int, seed: int, steps: int) -> np.ndarray:
    """Such as `HostEnv.step` takes, drawn without touching the environment's own randomness."""
    rng, space = np.random.default_rng(seed), raw_spaces(env).action
    if isinstance(space, gymnasium.spaces.Discrete):
        return rng.integers(int(space.n), size=(steps, num_envs))
    return rng.uniform(-1, 1, (steps, num_envs, int(np.prod(space.shape))))


def _parting(first: AnyEnv, second: AnyEnv, seed: int, steps: int) -> list[Finding]:
    """Where two plays under one seed and by the same actions part."""
    one, other = _played(first, seed, steps), _played(second, seed, steps)
    for number, (here, there) in enumerate(zip(one, other, strict=True)):
        if any(not np.array_equal(a, b) for a, b in zip(here, there, strict=True)):
            when = "at the reset" if number == 0 else f"at step {number - 1}"
            what = f"two plays under seed {seed} with the same actions part {when}"
            fix = "draw all random numbers from self.np_random, which super().reset(seed=seed) seeds"
            return [Finding("warning", what, fix)]
    return []


def _played(env: AnyEnv, seed: int, steps: int) -> list[tuple[np.ndarray, ...]]:
    host = HostEnv(env, seed=seed, bad_values="clip")
    actions = random_actions(env, host.num_envs, seed, steps)
    return [(host.reset(),), *(tuple(host.step(action)) for action in actions)]


@contextlib.contextmanager
def _made(env: str | AnyEnv | Callable[[], AnyEnv]) -> Iterator[AnyEnv]:
    """An environment; one that was made for this is closed afterwards."""
    if isinstance(env, gymnasium.Env | VectorEnv):
        yield env
        return
    made = gymnasium.make(env, disable_env_checker=True) if isinstance(env, str) else env()
    try:
        yield made
    finally:
        made.close()
