"""What all agents are to their users, in Stable-Baselines3's idiom: verbs, files, checks at the door.

Thin: an agent here holds a pure agent (`bayesbellman.control`), a player that steps it, and what came of it.
"""

import abc
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from bayesbellman.control.base import LIMITS, AbstractAgent
from bayesbellman.control.train import Played, Training, check_sizes
from bayesbellman.core.errors import Diverged
from bayesbellman.core.limits import COUNT, NOT_NEGATIVE, Limit, refuse_number
from bayesbellman.doors.agent_file import read_agent, write_agent
from bayesbellman.doors.callbacks import AnyCallback, Progress, as_callbacks, go_on
from bayesbellman.doors.checks import observation_rows, one_number, replay_fits, whole_number, yes_or_no
from bayesbellman.doors.environments import HostSettings, Opened, open_environment
from bayesbellman.doors.host_player import HostPlayer
from bayesbellman.doors.players import AbstractPlayer, Chunk, CompiledPlayer
from bayesbellman.doors.settings import chosen_device, plain, setting_names
from bayesbellman.envs.spaces import Box, Discrete, Spaces
from bayesbellman.nn.mlp import relu
from bayesbellman.runs.progress import progress

ACTIVATIONS: dict[str, Callable] = {"relu": relu, "tanh": jnp.tanh, "elu": jax.nn.elu, "silu": jax.nn.silu}
STRICTER = {
    "discount": Limit("a number >= 0 and < 1", lambda x: 0 <= x < 1),
    "exploration_entropy": NOT_NEGATIVE,
    "num_envs": COUNT,
}
"""Limits of settings that pure agents leave wider, or do not have"""
Door = TypeVar("Door", bound="Agent")


class Uncertainty(NamedTuple):
    """What the ensemble says an observation (and action) is worth: mean, deviation between members, each of them."""

    mean: Float[np.ndarray, "..."]
    std: Float[np.ndarray, "..."]
    members: Float[np.ndarray, "L ..."] | None = None


class Agent(abc.ABC):
    """What the agents share.

    Parameters
    ----------
    env
        A name (ours or Gymnasium's), an environment of either kind, or a function that makes a Gymnasium one, of which
        ``num_envs`` then play side by side.
    seed
        Of everything random in the run.
    learning_rate
        Of all networks (Adam), and of the temperature where there is one.
    discount
        ``gamma``, below 1.
    hidden, activation
        Widths of the networks' hidden layers; ``"relu"``, ``"tanh"``, ``"elu"`` or ``"silu"`` between them.
    batch_size, buffer_size
        Transitions of an update, and transitions that replay holds.
    warmup
        Steps with uniform actions before the first update.
    target_smoothing
        How far target critics go towards the critics in each update.
    scale_observations
        Bring observations to [-1, 1] where their space has bounds.
    num_envs
        Gymnasium environments that play side by side, with one update for each step of each.
    bad_values
        Of nan and infinity from a Gymnasium environment: ``"raise"``, ``"drop"`` the transition, or ``"clip"`` them.
    on_env_error, env_restarts
        ``"restart"`` begins a new episode where a Gymnasium environment fails, so many times; ``"raise"`` does not.
    env_timeout
        Seconds that a step may take; the environment then has a process of its own, and one that hangs is ended.
    device
        ``"auto"`` is JAX's first choice; ``"cpu"`` and ``"gpu"`` insist.
    """

    kinds: ClassVar[dict[str, type["Agent"]]] = {}
    """By name, for what was saved"""
    actions: ClassVar[type[Box] | type[Discrete]] = Box
    """What it can choose"""
    chosen_later: ClassVar[tuple[str, ...]] = ("target_entropy",)
    """Numbers that may be None, which is the environment's"""

    def __init_subclass__(cls) -> None:
        Agent.kinds[cls.__name__] = cls
        # `help` and editors would show the arguments of `__new__` instead.
        own = inspect.signature(cls.__init__)
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:], return_annotation=own.empty)

    def __new__(cls, *given: Any, **settings: Any) -> Self:
        """Only refuses in words what Stable-Baselines3's agents are given, a policy's name before the environment."""
        if len(given) > 1 or (given and "env" in settings):
            raise TypeError(
                f"{cls.__name__} takes the environment alone by its place, and no policy's name before it;"
                f" settings have names: bb.{cls.__name__}(env, hidden=(64, 64))"
            )
        return super().__new__(cls)

    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        learning_rate: float = 3e-4,
        discount: float = 0.99,
        hidden: Sequence[int] = (256, 256),
        activation: str = "relu",
        batch_size: int = 256,
        buffer_size: int = 1_000_000,
        warmup: int = 1_000,
        target_smoothing: float = 5e-3,
        scale_observations: bool = True,
        num_envs: int = 1,
        bad_values: Literal["raise", "drop", "clip"] = "raise",
        on_env_error: Literal["raise", "restart"] = "raise",
        env_restarts: int = 3,
        env_timeout: float | None = None,
        device: Literal["auto", "cpu", "gpu"] = "auto",
    ) -> None:
        self.seed = int(seed) if isinstance(seed, np.integer) else seed
        self.learning_rate, self.discount = learning_rate, discount
        self.hidden, self.activation = _widths(hidden), activation
        self.batch_size = whole_number("batch_size", batch_size)
        self.buffer_size = whole_number("buffer_size", buffer_size)
        self.warmup = whole_number("warmup", warmup)
        self.target_smoothing = target_smoothing
        self.num_envs = whole_number("num_envs", num_envs)
        self.scale_observations, self.device = scale_observations, device
        self.bad_values, self.on_env_error = bad_values, on_env_error
        self.env_restarts, self.env_timeout = env_restarts, env_timeout
        faults = HostSettings(bad_values, on_env_error, env_restarts, env_timeout)
        faults.check()
        self._check()
        self._device = chosen_device(device)
        self._env: Opened = open_environment(env, self.num_envs, seed, faults, self.actions)
        self._closed = False
        self._player: AbstractPlayer | None = None
        self._pending: Any = None  # a loaded state, until the player is there
        self._loaded_steps = 0  # taken before it was saved
        self._made: AbstractAgent | None = None
        self._draws = 0
        self._history: list[Progress] = []

    def _check(self) -> None:
        for name, limit in (LIMITS | STRICTER).items():
            given = getattr(self, name, None)
            if hasattr(self, name) and not (given is None and name in self.chosen_later):
                number = one_number(name, given)
                refuse_number(name, given if isinstance(given, int) else number, limit)
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden is {self.hidden}; give the width of one layer or more, each >= 1")
        yes_or_no("scale_observations", self.scale_observations)
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}; accepted are {', '.join(ACTIVATIONS)}")
        check_sizes(self.batch_size, self.buffer_size, self.warmup)
        if isinstance(self.seed, bool) or not (isinstance(self.seed, int) and 0 <= self.seed < 2**32):
            raise ValueError(f"seed is {self.seed!r}; accepted is a whole number from 0 to 2^32 - 1")

    @property
    def pure(self) -> AbstractAgent:
        """The pure agent; its settings are those that this one was made with."""
        if self._made is None:
            self._made = self._pure()
        return self._made

    # -- what differs from agent to agent ------------------------------------------------------------------------------

    @abc.abstractmethod
    def _pure(self) -> AbstractAgent:
        """The agent itself, made from the settings."""

    def _shared(self) -> dict[str, Any]:
        return {
            "hidden": self.hidden,
            "activation": ACTIVATIONS[self.activation],
            "learning_rate": self.learning_rate,
            "discount": self.discount,
            "target_smoothing": self.target_smoothing,
            "scale_observations": self.scale_observations,
        }

    # -- verbs ---------------------------------------------------------------------------------------------------------

    def learn(
        self: Door, total_timesteps: int, *, progress_bar: bool = False, callback: AnyCallback | None = None
    ) -> Door:
        """Take that many more steps, learning from each after the warm-up.

        A piece of at most 1,000 steps at a time, after each of which the callback is called: a function of the agent
        and its progress, a `Callback`, or several of them. If one returns False, learning ends. ``progress_bar`` shows
        steps, time, returns and disagreement on standard error: a bar on a terminal, lines elsewhere.
        """
        total_timesteps = whole_number("total_timesteps", total_timesteps)
        if total_timesteps < 1:
            raise ValueError(f"total_timesteps is {total_timesteps}; it must be >= 1")
        callbacks = as_callbacks(callback)
        self._refuse_if_closed()
        with jax.default_device(self._device):
            player = self.player
            first = player.steps
            with progress(type(self).__name__, total_timesteps, "steps", None if progress_bar else _SILENT) as report:
                while player.steps - first < total_timesteps:
                    told = self._piece(player, total_timesteps - (player.steps - first))
                    report(min(player.steps - first, total_timesteps), _words(told))
                    if not go_on(callbacks, self, told):
                        break
        return self

    def _piece(self, player: AbstractPlayer, most: int) -> Progress:
        sound, before, steps = player.hold(), self.num_timesteps, player.steps
        try:
            chunk: Chunk = player.advance(most)
            metrics = dict(chunk.metrics)
            if metrics:
                metrics["disagreement"] = player.disagreement()
            bad = [name for name, value in metrics.items() if not np.isfinite(value)]
            if not bad and not player.finite():
                bad = ["a network's parameter"]
            if bad:
                raise Diverged(
                    f"{', '.join(bad)} became infinite or nan between steps {before:,} and {self.num_timesteps:,};"
                    f" the agent is as it was at step {before:,}, and would learn on with an empty replay."
                    " A smaller learning_rate or prior_scale may help"
                )
        except Diverged as error:
            error.culprit = player.culprit(sound(), steps)
            self.stand_at(sound(), before)
            raise
        except BaseException:
            self.stand_at(sound(), before)
            raise
        told = Progress(self.num_timesteps, chunk.returns, metrics)
        self._history.append(told)
        return told

    def count_from(self, steps: int) -> None:
        """So many steps were taken before those of this player (for checkpoints)."""
        self._loaded_steps = steps

    def use_player(self, player: AbstractPlayer) -> None:
        """Have this player step it, from the start (for runs side by side)."""
        if self._pending is not None:
            player.agent_state, self._pending = self._pending, None
        self._player = player

    def stand_at(self, state: Any, steps: int) -> None:
        """Be this state of the pure agent, that many steps old; replay and environment are begun anew when it learns
        on (for what was saved, and for the last moment when all was well)."""
        self._player, self._pending, self._loaded_steps = None, state, steps

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """The learnt policy's action, in the environment's units, and ``state`` as it came (nothing is recurrent).

        ``deterministic``: the action believed best, as evaluations use; otherwise one drawn from the policy.
        """
        flat, several = self._flat(observation)
        with jax.default_device(self._device):
            pure, agent_state = self.pure, self._agent_state()
            if deterministic:
                action = pure.act_best(agent_state, flat)
            else:
                self._draws += 1
                key = jax.random.fold_in(jax.random.key(self.seed), 2**31 + self._draws)
                action = pure.draw(key, agent_state, flat)
        action = np.asarray(self._env.to_env_units(np.asarray(action)))
        return (action if several else action[0]), state

    def uncertainty(self, observation: Any, action: Any = None, *, members: bool = False) -> Uncertainty:
        """Value of ``observation`` with ``action`` (default: the one believed best): over the ensemble's members.

        The deviation is between members: what they disagree on, not the noise of returns.
        """
        flat, several = self._flat(observation)
        with jax.default_device(self._device):
            pure, agent_state = self.pure, self._agent_state()
            if action is None:
                unit = pure.act_best(agent_state, flat)
            else:
                unit = jnp.asarray(self._env.to_unit(np.asarray(action), len(flat)))
            values = np.asarray(pure.values(agent_state, flat, unit))
        values = values if several else values[:, 0]
        return Uncertainty(values.mean(axis=0), values.std(axis=0), values if members else None)

    def evaluate(self, episodes: int = 10, *, seed: int | None = None) -> Float[np.ndarray, " episodes"]:
        """Returns of whole episodes with the action believed best, in a fresh environment."""
        episodes = whole_number("episodes", episodes)
        if episodes < 1:
            raise ValueError(f"episodes is {episodes}; it must be >= 1")
        self._refuse_if_closed()
        with jax.default_device(self._device):
            return self.player.evaluate(episodes, self._seed_of_evaluations(seed))

    def play(self, episodes: int = 10, *, seed: int | None = None, keep: int = 1_000) -> Played:
        """The episodes that `evaluate` plays, with observations and rewards of the first ``keep`` steps of each."""
        episodes, keep = whole_number("episodes", episodes), whole_number("keep", keep)
        if episodes < 1 or keep < 1:
            raise ValueError(f"episodes is {episodes} and keep {keep}; both must be >= 1")
        with jax.default_device(self._device):
            return self.player.play(episodes, self._seed_of_evaluations(seed), keep)

    def save(self, path: str | Path) -> Path:
        """One file with networks, optimisers and settings, hashed; replay is not in it. Returns the path."""
        return write_agent(self, self._agent_state(), Path(path))

    @classmethod
    def load(cls: type[Door], path: str | Path, env: Any = None, **changes: Any) -> Door:
        """What `save` wrote, or ``bbo train`` left in a folder, ready to predict or to learn on.

        ``env``: if it has no name, or another is wanted. Nothing in the file is executed. `learn` begins with an empty
        replay, and so with a warm-up. ``changes``: settings, by name, in place of those of the file; a ``recipe``
        brings what it stands for, and those that make another function of the networks are refused.
        """
        from bayesbellman.doors import agents  # noqa: F401  (by now all have their names in `kinds`)

        return read_agent(cls, Agent.kinds, Path(path), env, changes)

    def close(self) -> None:
        """Close the environments that were made for it. It can still predict and save, but not learn or be evaluated.

        ``with bb.BBAC(...) as agent:`` does so at the end.
        """
        self._closed = True
        self._env.close()

    def __enter__(self: Door) -> Door:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # -- what can be asked ---------------------------------------------------------------------------------------------

    @property
    def spaces(self) -> Spaces:
        return self._env.spaces

    @property
    def env_name(self) -> str | None:
        """Of the environment, if that alone makes it again"""
        return self._env.name

    @property
    def env_described(self) -> str:
        """Its name; of one without, what else tells it from others"""
        return self._env.described

    @property
    def env_id(self) -> str | None:
        """By which ours or Gymnasium's environments are known; it may have been made with arguments or wrappers"""
        return self._env.env_id

    @property
    def num_timesteps(self) -> int:
        """Steps taken so far, warm-ups and those before a `save` included"""
        return self._loaded_steps + (0 if self._player is None else self._player.steps)

    @property
    def evaluation_seed(self) -> int:
        """What `evaluate` plays with if it is not told: the same episodes each time, and none of training's"""
        return (int(self.seed) + 10_000) % 2**32

    @property
    def history(self) -> tuple[Progress, ...]:
        """What `learn` saw, piece by piece"""
        return tuple(self._history)

    @property
    def player(self) -> AbstractPlayer:
        """Agent and environment at play; made when first needed."""
        if self._player is None:
            with jax.default_device(self._device):
                self._player = self._make_player()
            if self._pending is not None:
                self._player.agent_state, self._pending = self._pending, None
        return self._player

    @property
    def training(self) -> Training | None:
        """Agent, environment and sizes of the loop that they are compiled to; None where it steps in Python"""
        if self._env.compiled is None:
            return None
        return Training(self.pure, self._env.compiled, self.batch_size, self.buffer_size, self.warmup)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments by name, defaults filled in; JSON can hold them."""
        values = {name: getattr(self, name) for name in setting_names(type(self))}
        return {name: plain(value) for name, value in values.items()}

    @classmethod
    def changed(cls, settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """An agent's settings with some of them changed."""
        return {**settings, **changes}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._env.name or 'environment'!r}, {self.num_timesteps:,} steps)"

    def _seed_of_evaluations(self, given: int | None) -> int:
        seed = self.evaluation_seed if given is None else whole_number("seed", given)
        if not 0 <= seed < 2**32:
            raise ValueError(f"seed is {seed}; accepted is a whole number from 0 to 2^32 - 1")
        return seed

    def _agent_state(self) -> Any:
        if self._player is None and self._pending is not None:
            return self._pending
        return self.player.agent_state

    def _make_player(self) -> AbstractPlayer:
        replay_fits(self.buffer_size, self.spaces.observation.size, self.spaces.action, self._device)
        training = self.training
        if training is not None:
            return CompiledPlayer(training, int(self.seed))
        sizes = {"batch_size": self.batch_size, "buffer_size": self.buffer_size, "warmup": self.warmup}
        return HostPlayer(self.pure, self._env.host, int(self.seed), **sizes, evaluation=self._env.again)

    def _refuse_if_closed(self) -> None:
        if self._closed and self._env.host is not None:
            raise RuntimeError("the agent was closed, and its environments with it; save it, and load it to go on")

    def _flat(self, observation: Any) -> tuple[jax.Array, bool]:
        """Observations as rows, and whether there were several."""
        rows, several = observation_rows(observation, self._env.observation_shape, self.spaces.observation.size)
        return jnp.asarray(rows), several


def _widths(hidden: Any) -> tuple[int, ...]:
    if not isinstance(hidden, Sequence | np.ndarray) or isinstance(hidden, str):
        raise TypeError(f"hidden is {hidden!r}; give the widths of layers, such as (64, 64)")
    return tuple(whole_number("hidden", width) for width in hidden)


def _words(told: Progress) -> str:
    parts = [f"return {np.mean(told.returns):.1f}"] if len(told.returns) else []
    if "disagreement" in told.metrics:
        parts.append(f"disagreement {told.metrics['disagreement']:.2f}")
    return ", ".join(parts)


class _Closed:
    """A stream on which nothing is shown."""

    closed = True


_SILENT: Any = _Closed()
