"""Steps of Gymnasium environments as transitions that can be learnt from."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from jaxtyping import Array, Bool, Float

from bayesbellman.compat.gymnasium.faults import EnvironmentFailed, EnvironmentWarning, NotFinite
from bayesbellman.compat.gymnasium.sources import Played, Several
from bayesbellman.compat.gymnasium.spaces import ActionScale, AnyEnv, raw_spaces, spaces_of
from bayesbellman.compat.gymnasium.vector import Vector
from bayesbellman.core.errors import warn
from bayesbellman.envs.base import AbstractEnv

BadValues = Literal["raise", "drop", "clip"]
PATIENCE = 100
"""Steps of one environment that may be dropped in a row"""
CLIP = 1e6
"""What infinity is clipped to where the space has no bound"""


class HostStep(NamedTuple):
    """One step of n environments.

    The transition is (the observation acted on, action, reward, next_observation), to be kept where ``valid``.
    Bootstrap unless ``terminated``; an episode ended where ``terminated | truncated``, valid or not.
    """

    observation: Float[np.ndarray, "n d"]
    """To act on next: of a new episode, where one ended and the environment has been reset"""
    reward: Float[np.ndarray, " n"]
    terminated: Bool[np.ndarray, " n"]
    truncated: Bool[np.ndarray, " n"]
    """Cut without having terminated. Never both: what terminates in its last step has terminated."""
    next_observation: Float[np.ndarray, "n d"]
    """The true successor, never a reset; where not ``valid``, a finite one without meaning"""
    valid: Bool[np.ndarray, " n"]
    """False where no transition took place (a vector environment resetting, a restart) or its numbers were bad"""


class HostEnv:
    """A Gymnasium environment, several of them, or a vector environment in any autoreset mode, as one object.

    ``env``: an environment, or a function that makes one, which can be called ``num_envs`` times. Observations are
    flat float32 vectors. Actions are within [-1, 1] and scaled to the environment's bounds; Discrete ones are
    ``0..n-1``.

    ``bad_values``, of NaN and infinity: ``"raise"`` a `NotFinite` before anything is returned; ``"drop"`` the
    transition, and cut the episode where the observation is bad (vector environments that reset themselves play on,
    dropped, until it is finite); ``"clip"``, NaN to 0 and infinities to the space's bounds or 1e6.

    ``restarts``: after so many exceptions, of all environments together, the next is raised, as `EnvironmentFailed`.
    Until then each cuts its episode. An environment that hangs hangs us too: within one process nothing can stop
    it. `Isolated` environments (``make_host_env(..., timeout=...)``) have processes of their own, and so has
    ``gymnasium.vector.AsyncVectorEnv(..., context="spawn")`` (forked ones may hang: JAX has threads).
    """

    def __init__(
        self,
        env: AnyEnv | Callable[[], AnyEnv],
        num_envs: int = 1,
        *,
        seed: int = 0,
        bad_values: BadValues = "raise",
        restarts: int = 0,
    ) -> None:
        if bad_values not in ("raise", "drop", "clip"):
            raise ValueError(f"bad_values must be 'raise', 'drop' or 'clip', got {bad_values!r}")
        if restarts < 0:
            raise ValueError(f"restarts must be 0 or more, got {restarts}")
        self.seed = _checked_seed(seed)
        self.bad_values: BadValues = bad_values
        self.source = _source(env, num_envs, restarts)
        self.spaces = spaces_of(self.first)
        self._scale = ActionScale(raw_spaces(self.first).action)
        self._low, self._high = np.asarray(self.spaces.observation.low), np.asarray(self.spaces.observation.high)
        slack = 1e-5  # for rounding
        self._lowest, self._highest = (
            self._low - slack * (1 + np.abs(self._low)),
            self._high + slack * (1 + np.abs(self._high)),
        )
        self._observation: Float[np.ndarray, "n d"] | None = None
        self._spoiled: np.ndarray = np.zeros(self.num_envs, dtype=bool)  # whose observation to act on is made up
        self._dropped = np.zeros(self.num_envs, dtype=np.int64)  # steps in a row
        self._warned: set[str] = set()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def first(self) -> AnyEnv:
        """The environment, or the first of several"""
        return self.source.envs[0] if isinstance(self.source, Several) else self.source.env

    @property
    def num_envs(self) -> int:
        return self.source.num_envs

    @property
    def steps(self) -> int:
        """Of each environment since it was made, dropped ones included"""
        return self.source.steps

    def reset(self, seed: int | None = None) -> Float[np.ndarray, "n d"]:
        """Begin anew. Without a seed, with the one given at first."""
        self.seed = self.seed if seed is None else _checked_seed(seed)
        self._spoiled[:], self._dropped[:] = False, 0
        self._observation = self._startable(self.source.reset(self.seed))
        return self._observation.copy()

    def step(self, actions: np.ndarray | Array) -> HostStep:
        """Play ``actions``: ``[n, d]`` within [-1, 1], or n integers where actions are Discrete."""
        if self._observation is None:
            raise RuntimeError("reset() must be called before step()")
        played = self._scale(actions, self.num_envs)
        outcome = self._mended(self.source.step(played), played)
        truncated = outcome.truncated & ~outcome.terminated
        self._warn_of_bounds(outcome.successor[outcome.valid])
        self._observation = self._startable(self.source.begin(outcome.terminated | truncated))
        return HostStep(
            observation=self._observation.copy(),
            reward=outcome.reward.astype(np.float32),
            terminated=outcome.terminated,
            truncated=truncated,
            next_observation=outcome.successor,
            valid=outcome.valid,
        )

    def close(self) -> None:
        self.source.close()

    def snapshot(self) -> dict[str, np.ndarray] | None:
        """Plain arrays from which `restore` finds the way back here; None for vector environments and before `reset`.

        No environment tells its state. But each episode has a seed of its own, and an environment that keeps its
        promises comes to the same state by the same actions: kept are the seeds and actions of the running episodes.
        """
        if not isinstance(self.source, Several) or self._observation is None:
            return None
        lengths = [len(actions) for actions in self.source.played]
        actions = [action for actions in self.source.played for action in actions]
        return {
            "seed": np.asarray(self.seed),
            "steps": np.asarray(self.steps),
            "episodes": self.source.episodes.copy(),
            "lengths": np.asarray(lengths, dtype=np.int64),
            "actions": np.asarray(actions, dtype=self._scale.dtype).reshape(-1, *self._scale.shape),
            "observation": self._observation.copy(),
        }

    def restore(self, snapshot: dict[str, np.ndarray]) -> Float[np.ndarray, "n d"]:
        """Play the running episodes of a `snapshot` up to where they were; an error if that leads elsewhere."""
        if not isinstance(self.source, Several):
            raise TypeError(f"{self.name}: a vector environment cannot be restored; pass a function that makes one env")
        if len(snapshot["episodes"]) != self.num_envs:
            raise ValueError(f"the snapshot is of {len(snapshot['episodes'])} environments, these are {self.num_envs}")
        self.seed = _checked_seed(int(snapshot["seed"]))
        self._spoiled[:], self._dropped[:] = False, 0
        found = self.source.replay(self.seed, snapshot["episodes"], snapshot["lengths"], snapshot["actions"])
        self.source.steps = int(snapshot["steps"])
        self._observation = self._startable(found)
        for environment, (here, there) in enumerate(zip(self._observation, snapshot["observation"], strict=True)):
            if not np.array_equal(here, there):
                what = "the same seed and actions lead elsewhere than before: it is not deterministic, or has changed"
                raise EnvironmentFailed(what, self.source.place(environment))
        return self._observation.copy()

    def _mended(self, outcome: Played, played: np.ndarray) -> Played:
        """The step without bad numbers, by the rule of ``bad_values``."""
        bad_observation = _rows_with_bad(outcome.successor)
        bad_reward = ~np.isfinite(outcome.reward)
        bad = bad_observation | bad_reward
        if self.bad_values != "drop" and not bad.any():
            return outcome
        if self.bad_values == "raise":
            environment = int(np.flatnonzero(bad)[0])
            self._refuse(environment, "reward" if bad_reward[environment] else "observation", outcome, played)
        if self.bad_values == "clip":
            self._warn_once("NaN or infinity was clipped", int(np.flatnonzero(bad)[0]))
            reward = np.nan_to_num(outcome.reward, nan=0.0, posinf=CLIP, neginf=-CLIP)
            return outcome._replace(successor=self._clipped(outcome.successor), reward=reward)
        return self._dropped_where(bad, bad_observation, outcome)

    def _dropped_where(
        self, bad: Bool[np.ndarray, " n"], bad_observation: Bool[np.ndarray, " n"], outcome: Played
    ) -> Played:
        assert self._observation is not None
        dropped = bad | self._spoiled
        self._dropped = np.where(dropped, self._dropped + 1, 0)
        if not dropped.any():
            return outcome
        worst = int(np.argmax(self._dropped))
        self._warn_once("NaN or infinity: the transition was dropped", worst)
        if self._dropped[worst] > PATIENCE:
            raise NotFinite(f"NaN or infinity for more than {PATIENCE} steps in a row", self.source.place(worst))
        return Played(
            successor=np.where(dropped[:, None], self._observation, outcome.successor),
            reward=np.where(bad, 0, outcome.reward),
            terminated=outcome.terminated,
            truncated=outcome.truncated if self.source.resets_itself else outcome.truncated | bad_observation,
            valid=outcome.valid & ~dropped,
        )

    def _startable(self, observation: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Observations to act on. What a reset gives has no transition that could be dropped in its place."""
        bad = _rows_with_bad(observation)
        self._spoiled = bad
        if not bad.any():
            return observation
        environment = int(np.flatnonzero(bad)[0])
        if self.bad_values == "raise" or (self.bad_values == "drop" and not self.source.resets_itself):
            what = f"observation of a reset is {observation[environment].tolist()}"
            raise NotFinite(what, self.source.place(environment))
        return self._clipped(observation)

    def _refuse(self, environment: int, field: str, outcome: Played, played: np.ndarray) -> None:
        value = outcome.reward[environment] if field == "reward" else outcome.successor[environment]
        place = self.source.place(environment, played[environment])._replace(step=self.steps - 1)
        if place.episode_step is not None:
            place = place._replace(episode_step=place.episode_step - 1)
        fix = "mend the environment, or pass bad_values='drop' or 'clip' (bbo train: --bad-values)"
        raise NotFinite(f"{field} is {value.tolist()}; {fix}", place)

    def _clipped(self, observation: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        low = np.where(np.isfinite(self._low), self._low, np.float32(-CLIP))
        high = np.where(np.isfinite(self._high), self._high, np.float32(CLIP))
        known = np.where(np.isnan(observation), np.float32(0), observation)
        return np.where(np.isfinite(observation), observation, np.clip(known, low, high))

    def _warn_of_bounds(self, observation: Float[np.ndarray, "m d"]) -> None:
        if "bounds" in self._warned:
            return
        outside = (observation < self._lowest) | (observation > self._highest)
        if outside.any():
            self._warned.add("bounds")
            row = observation[outside.any(axis=1)][0].tolist()
            warn(f"{self.name}: observation {row} is outside its space; widen the space's bounds", EnvironmentWarning)

    def _warn_once(self, what: str, environment: int) -> None:
        if what not in self._warned:
            self._warned.add(what)
            warn(f"{self.source.place(environment)}: {what}; this is said once", EnvironmentWarning)


def _rows_with_bad(observation: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
    return np.asarray(~np.isfinite(observation).all(axis=1))


def _source(env: AnyEnv | Callable[[], AnyEnv], num_envs: int, restarts: int) -> Several | Vector:
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")
    make = None if isinstance(env, gymnasium.Env | VectorEnv) else env
    if not isinstance(env, gymnasium.Env | VectorEnv) and not callable(env):
        hint = "; AsGymnasium(env) makes one of ours into it" if isinstance(env, AbstractEnv) else ""
        raise TypeError(f"env must be a Gymnasium environment or a function that makes one, got {env!r}{hint}")
    first = env if isinstance(env, gymnasium.Env | VectorEnv) else env()
    if isinstance(first, VectorEnv):
        if num_envs not in (1, first.num_envs):
            raise ValueError(f"num_envs is {num_envs}, but the vector environment has {first.num_envs}; leave it out")
        return Vector(first, make, restarts)
    if not isinstance(first, gymnasium.Env):
        raise TypeError(f"env made {type(first).__name__}, not a gymnasium.Env or gymnasium.vector.VectorEnv")
    if num_envs == 1:
        return Several([first], make, restarts)
    if make is None:
        raise ValueError(f"num_envs is {num_envs}, but env is one environment; pass its id or a function that makes it")
    envs = [first, *(make() for _ in range(num_envs - 1))]
    if len({id(env) for env in envs}) < num_envs:
        raise ValueError("env gives one and the same environment at each call; it must make a new one")
    return Several(envs, make, restarts)  # pyright: ignore[reportArgumentType]


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 2**31:
        raise ValueError(f"seed must be from 0 to {2**31 - 1}, got {seed}")
    return int(seed)  # NumPy's integers are none to Gymnasium
