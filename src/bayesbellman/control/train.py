"""Environment, replay and update in one compiled loop: pure, so that it can be vmapped over seeds and float settings.

All randomness of a step comes from the run's key and the step's number. So it does not matter in which pieces a run is
made.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from bayesbellman.control.actions import any_action, for_environment, no_action
from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.culprit import Update
from bayesbellman.core.types import Transition
from bayesbellman.data.replay import Replay
from bayesbellman.data.transition import transition_of
from bayesbellman.envs.base import AbstractControlEnv

CHUNK = 1000
"""The most steps that one call of `advance` makes"""


class TrainState(eqx.Module):
    """Everything that a run carries from step to step."""

    agent: PyTree
    env: PyTree
    context: PyTree
    """What the agent decided for this episode"""
    replay: Replay
    episode_return: Float[Array, ""]
    episode_steps: Int[Array, ""]
    step: Int[Array, ""]
    key: Key[Array, ""]


class StepKeys(NamedTuple):
    """All randomness of a step."""

    act: Key[Array, ""]
    env: Key[Array, ""]
    reset: Key[Array, ""]
    begin: Key[Array, ""]
    draw: Key[Array, ""]
    update: Key[Array, ""]


def step_keys(run_key: Key[Array, ""], step: int | Int[Array, ""]) -> StepKeys:
    return StepKeys(*jax.random.split(jax.random.fold_in(run_key, step), 6))


class Trace(NamedTuple):
    """What is worth seeing of some steps."""

    returns: Float[Array, " CHUNK"]
    """Of the episodes that ended, the first ``episodes`` entries; the rest is nan"""
    episodes: Int[Array, ""]
    metrics: dict[str, Float[Array, ""]]
    """Means over the updates"""


class Played(NamedTuple):
    """Whole episodes with the action believed best. Of each, the first ``K`` steps are kept; after its end is zero."""

    returns: Float[Any, " episodes"]
    lengths: Int[Any, " episodes"]
    observations: Float[Any, "episodes K d"]
    rewards: Float[Any, "episodes K"]
    rest: Float[Any, " episodes"]
    """Discounted return that followed the K-th step"""


class Training(eqx.Module):
    """An agent in an environment, and the numbers of the loop."""

    agent: AbstractAgent
    env: AbstractControlEnv
    batch_size: int = eqx.field(static=True, default=256)
    buffer_size: int = eqx.field(static=True, default=1_000_000)
    warmup: int = eqx.field(static=True, default=1_000)
    """Steps with uniform actions and no updates, counted in the run's steps"""

    def __check_init__(self) -> None:
        check_sizes(self.batch_size, self.buffer_size, self.warmup)

    def init(self, key: Key[Array, ""]) -> TrainState:
        agent_key, begin_key, reset_key, run_key = jax.random.split(key, 4)
        agent = self.agent.init(agent_key, self.env.spaces)
        env = self.env.reset(reset_key)
        action = no_action(self.env.spaces.action)
        example = jax.eval_shape(lambda: self._play(reset_key, env, action)[0])
        return TrainState(
            agent=agent,
            env=env,
            context=self.agent.begin_episode(begin_key, agent),
            replay=Replay.empty(self.buffer_size, example),
            episode_return=jnp.zeros((), example.reward.dtype),
            episode_steps=jnp.zeros((), jnp.int32),
            step=jnp.zeros((), jnp.int32),
            key=run_key,
        )

    def advance(self, state: TrainState, num_steps: int | Int[Array, ""], learn: bool) -> tuple[TrainState, Trace]:
        """``num_steps`` more steps, at most `CHUNK`; without ``learn`` they are of the warm-up.

        A number that is known when this is compiled (an int) spares a GPU a word with its host at every step. The two
        kinds are different programs, and so equal to rounding only.
        """
        if isinstance(num_steps, int) and num_steps > CHUNK:
            raise ValueError(f"num_steps is {num_steps}; accepted is a number <= {CHUNK}")
        # Of all steps at once: within the loop each would be a chain of small operations, which a GPU waits for.
        keys = jax.vmap(partial(step_keys, state.key))(state.step + jnp.arange(CHUNK, dtype=state.step.dtype))

        def keys_of(at: int | Int[Array, ""]) -> StepKeys:
            return jax.tree.map(lambda keys: keys[at], keys)

        shapes = jax.eval_shape(lambda: self._step(state, keys_of(0), learn)[1:])
        no_transition, _, nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        returns = jnp.full(CHUNK, jnp.nan, state.episode_return.dtype)

        def one(at: Int[Array, ""], carry: tuple) -> tuple:
            state, latest, is_there, trace = carry
            state = stored(state, latest, is_there)
            state, latest, ended, metrics = self._step(state, keys_of(at), learn)
            place = jnp.where(ended[0], trace.episodes, CHUNK)  # beyond the end: nothing is written
            gathered = Trace(
                trace.returns.at[place].set(ended[1], mode="drop"),
                trace.episodes + ended[0].astype(jnp.int32),
                jax.tree.map(lambda a, b: a + b, trace.metrics, metrics),
            )
            return state, latest, jnp.ones((), bool), gathered

        start = Trace(returns, jnp.zeros((), jnp.int32), nothing)
        begun = (state, no_transition, jnp.zeros((), bool), start)
        state, latest, is_there, trace = jax.lax.fori_loop(0, num_steps, one, begun)
        state = stored(state, latest, is_there)
        means = jax.tree.map(
            lambda total: total / jnp.maximum(jnp.asarray(num_steps), 1).astype(total.dtype), trace.metrics
        )
        return state, Trace(trace.returns, trace.episodes, means)

    def evaluate(
        self, key: Key[Array, ""], state: TrainState, episodes: int, longest: int
    ) -> Float[Array, " episodes"]:
        """Returns of whole episodes with the action believed best; at most ``longest`` steps each."""
        return self.play(key, state, episodes, longest, 0).returns

    def play(self, key: Key[Array, ""], state: TrainState, episodes: int, longest: int, keep: int) -> Played:
        """The episodes that `evaluate` plays with this key, with the first ``keep`` steps of each."""

        def going_on(carry: tuple) -> Bool[Array, ""]:
            time, _, _, _, alive = carry
            return jnp.any(alive) & (time < longest)

        def one(carry: tuple) -> tuple:
            time, states, played, weight, alive = carry
            keys = jax.random.split(jax.random.fold_in(step_key, time), episodes)

            def act_and_step(key: Key[Array, ""], env: PyTree) -> Any:
                action = self.agent.act_best(state.agent, self.env.observe(env))
                return self.env.step(key, env, for_environment(self.env.spaces.action, action))

            outcome = jax.vmap(act_and_step)(keys, states)
            reward = jnp.where(alive, outcome.reward, jnp.zeros_like(outcome.reward))
            observations, rewards = played.observations, played.rewards
            if keep:
                seen = jax.vmap(self.env.observe)(states).astype(observations.dtype)
                seen = jnp.where(alive[:, None], seen, jnp.zeros_like(seen))
                observations = observations.at[:, time].set(seen, mode="drop")
                rewards = rewards.at[:, time].set(reward, mode="drop")
            played = Played(
                played.returns + reward,
                played.lengths + alive.astype(jnp.int32),
                observations,
                rewards,
                played.rest + weight * reward,
            )
            weight = jnp.where(time + 1 == keep, jnp.ones_like(weight), weight * discount)
            return time + 1, outcome.state, played, weight, alive & ~outcome.terminated & ~outcome.truncated

        reset_key, step_key = jax.random.split(key)
        starts = jax.vmap(self.env.reset)(jax.random.split(reset_key, episodes))
        dtype = state.episode_return.dtype
        discount = jnp.asarray(self.agent.discount, dtype)
        seen = jnp.zeros((episodes, keep, self.env.spaces.observation.size), jnp.float32)
        nothing, no_rewards = jnp.zeros(episodes, dtype), jnp.zeros((episodes, keep), dtype)
        begun = (
            jnp.zeros((), jnp.int32),
            starts,
            Played(nothing, jnp.zeros(episodes, jnp.int32), seen, no_rewards, nothing),
            jnp.where(keep, jnp.zeros((), dtype), jnp.ones((), dtype)),  # of rewards in `rest`: none while all are kept
            jnp.ones(episodes, bool),
        )
        return jax.lax.while_loop(going_on, one, begun)[2]

    def updates(self, run_key: Key[Array, ""], start: int, stop: int) -> list[Update]:
        """What was done from one step to another: each drew from what those before it had stored."""
        steps = range(max(start, self.warmup), stop)
        keys = (step_keys(run_key, step) for step in steps)
        return [Update(step, step, key.draw, key.update) for step, key in zip(steps, keys, strict=True)]

    def disagreement(self, key: Key[Array, ""], state: TrainState) -> Float[Array, ""]:
        """Standard deviation of the members' values at a batch of replay, on average."""
        batch = state.replay.sample(key, self.batch_size).transitions
        return jnp.mean(jnp.std(self.agent.values(state.agent, batch.observation, batch.action), axis=0))

    def _play(self, key: Key[Array, ""], env: PyTree, action: Shaped[Array, "*A"]) -> tuple[Transition, Any]:
        outcome = self.env.step(key, env, for_environment(self.env.spaces.action, action))
        return transition_of(self.env, env, action, outcome, self.agent.discount), outcome

    def _step(
        self, state: TrainState, keys: StepKeys, learn: bool
    ) -> tuple[TrainState, Transition, tuple, dict[str, Array]]:
        """One step of the environment and, with ``learn``, one update; whether an episode ended, and its return.

        The update is from what was stored before, and the new transition is stored with the next step: so the two do
        not wait for each other.
        """
        if learn:
            # Behind a barrier: XLA would make one operation of acting and of the update of the same parameters, which
            # waits for their gradient.
            known = jax.lax.optimization_barrier(state.agent)
            action = self.agent.act(keys.act, known, state.context, self.env.observe(state.env))
        else:
            action = any_action(keys.act, self.env.spaces.action)
        transition, outcome = self._play(keys.env, state.env, action)
        agent, metrics = state.agent, {}
        if learn:
            drawn = state.replay.sample(keys.draw, self.batch_size)
            agent, metrics = self.agent.update(keys.update, agent, drawn.transitions, drawn.index)
        ended = outcome.terminated | outcome.truncated
        gathered = state.episode_return + outcome.reward

        def where_ended(fresh: PyTree, going_on: PyTree) -> PyTree:
            return jax.tree.map(lambda a, b: jnp.where(ended, a, b), fresh, going_on)

        following = TrainState(
            agent=agent,
            env=where_ended(self.env.reset(keys.reset), outcome.state),
            context=where_ended(self.agent.begin_episode(keys.begin, agent), state.context),
            replay=state.replay,
            episode_return=jnp.where(ended, jnp.zeros_like(gathered), gathered),
            episode_steps=jnp.where(ended, jnp.zeros_like(state.episode_steps), state.episode_steps + 1),
            step=state.step + 1,
            key=state.key,
        )
        return following, transition, (ended, gathered), metrics


def stored(state: TrainState, transition: Transition, is_there: Bool[Array, ""]) -> TrainState:
    """With the transition in replay, if there is one."""
    return eqx.tree_at(lambda state: state.replay, state, state.replay.add(transition, is_there))


def check_sizes(batch_size: int, buffer_size: int, warmup: int) -> None:
    """What would make no sense, before anything is compiled."""
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; accepted is a number >= 1")
    if buffer_size >= 2**31:
        raise ValueError(
            f"buffer_size is {buffer_size}; accepted is a number < 2^31, transitions are counted in 32 bits"
        )
    if buffer_size < batch_size:
        raise ValueError(
            f"buffer_size is {buffer_size} and batch_size {batch_size}; replay must hold at least one batch"
        )
    if warmup < 1:
        raise ValueError(f"warmup is {warmup}; accepted is a number >= 1: the first update needs a transition")
