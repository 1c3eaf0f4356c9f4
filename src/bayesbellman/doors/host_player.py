"""An agent at play in Gymnasium environments: they step in Python, acting and learning are compiled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from bayesbellman.control.actions import any_action, no_action
from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.culprit import Culprit, Update, find_culprit
from bayesbellman.control.train import CHUNK, Played, check_sizes
from bayesbellman.core.devices import update_options
from bayesbellman.core.errors import Diverged
from bayesbellman.core.types import Transition, effective_discount
from bayesbellman.data.replay import Replay
from bayesbellman.doors.players import LONGEST, NO_STEP, AbstractPlayer, Carried, Chunk, compiled_no_nan, held, observed

MOST_CUT = 100
"""Episodes of an evaluation that failures and bad numbers may cut: they are played again, and do not count"""


class HostPlayer(AbstractPlayer):
    """In Gymnasium environments: they step in Python, acting and learning are compiled.

    One update for each step of each environment, as in the compiled loop.
    """

    def __init__(
        self,
        agent: AbstractAgent,
        host: Any,
        seed: int,
        batch_size: int = 256,
        buffer_size: int = 1_000_000,
        warmup: int = 1_000,
        evaluation: Any = None,
    ) -> None:
        check_sizes(batch_size, buffer_size, warmup)
        self.agent, self.host, self.spaces = agent, host, host.spaces
        self.batch_size, self.warmup = batch_size, warmup
        self._evaluation = evaluation
        agent_key, begin_key, self.key = jax.random.split(jax.random.key(seed), 3)
        self._agent_state = jax.jit(lambda key: agent.init(key, host.spaces))(agent_key)  # arrays that share no memory
        observed, acted = jnp.zeros(host.spaces.observation.size), no_action(host.spaces.action)
        example = Transition(observed, acted, jnp.zeros(()), jnp.zeros(()), observed, jnp.ones(()))
        self._replay = Replay.empty(buffer_size, example)
        self.num_envs = host.num_envs
        self._steps = 0
        self._stored_at: list[tuple[int, int]] = []
        """Of the last piece's steps with updates: how many transitions there were"""
        self._act = jax.jit(self._acting)
        self._learn = jax.jit(self._learning, donate_argnums=(1, 2), compiler_options=update_options())
        self._best = jax.jit(lambda state, observation: agent.act_best(state, observation))
        self.contexts = self._begin_all(begin_key, self._agent_state)
        self.observation = host.reset(seed)
        self.gathered = np.zeros(self.num_envs)

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def agent_state(self) -> Any:
        return self._agent_state

    @agent_state.setter
    def agent_state(self, state: Any) -> None:
        self._agent_state = state

    def hold(self) -> Callable[[], Any]:
        return held(self._agent_state)

    def finite(self) -> bool:
        return bool(compiled_no_nan(self._agent_state))

    def culprit(self, state: Any, steps: int) -> Culprit | None:
        updates = []
        for step, stored in self._stored_at:
            _, draws = self._learning_keys(self._step_keys(step)[1])
            pairs = [jax.random.split(key) for key in draws]
            updates += [Update(step, stored, draw_key, update_key) for draw_key, update_key in pairs]
        return find_culprit(self.agent, state, self._replay, updates, self.batch_size)

    def _step_keys(self, step: int) -> Key[Array, " two"]:
        """Of acting and of learning"""
        return jax.random.split(jax.random.fold_in(self.key, step))

    def _learning_keys(self, key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, " n"]]:
        """Of what begins an episode, and of the updates"""
        begin_key, key = jax.random.split(key)
        return begin_key, jax.random.split(key, self.num_envs)

    def _acting(
        self, key: Key[Array, ""], state: PyTree, contexts: PyTree, observation: Float[Array, "n d"]
    ) -> Shaped[Array, "n ..."]:
        keys = jax.random.split(key, self.num_envs)
        return jax.vmap(lambda k, c, o: self.agent.act(k, state, c, o))(keys, contexts, observation)

    def _learning(
        self,
        key: Key[Array, ""],
        state: PyTree,
        replay: Replay,
        transitions: Transition,
        valid: Bool[Array, " n"],
        contexts: PyTree,
        ended: Bool[Array, " n"],
        learn: Bool[Array, ""],
    ) -> tuple[PyTree, Replay, PyTree, dict[str, Array]]:
        begin_key, update_keys = self._learning_keys(key)

        def store(replay: Replay, one: tuple) -> tuple[Replay, None]:
            return replay.add(*one), None

        replay, _ = jax.lax.scan(store, replay, (transitions, valid))

        def update(state: PyTree, key: Key[Array, ""]) -> tuple[PyTree, dict[str, Array]]:
            draw_key, update_key = jax.random.split(key)
            drawn = replay.sample(draw_key, self.batch_size)
            return self.agent.update(update_key, state, drawn.transitions, drawn.index)

        def updates(state: PyTree) -> tuple[PyTree, dict[str, Array]]:
            state, metrics = jax.lax.scan(update, state, update_keys)
            return state, jax.tree.map(jnp.mean, metrics)

        def none(state: PyTree) -> tuple[PyTree, dict[str, Array]]:
            shapes = jax.eval_shape(updates, state)[1]
            return state, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

        state, metrics = jax.lax.cond(learn, updates, none, state)
        fresh = self._begin_all(begin_key, state)
        contexts = jax.tree.map(lambda a, b: jnp.where(ended, a, b), fresh, contexts)
        return state, replay, contexts, metrics

    def _begin_all(self, key: Key[Array, ""], state: PyTree) -> Int[Array, " n"]:
        keys = jax.random.split(key, self.num_envs)
        return jax.vmap(lambda k: self.agent.begin_episode(k, state))(keys)

    def advance(self, most: int) -> Chunk:
        returns, totals, updates, taken = [], {}, 0, 0
        stop, stored, self._stored_at = min(most, CHUNK), int(self._replay.stored), []
        while taken < stop:
            learn = self._steps >= self.warmup
            act_key, learn_key = self._step_keys(self._steps)
            if learn:
                actions = np.asarray(self._act(act_key, self._agent_state, self.contexts, self.observation))
            else:
                keys = jax.random.split(act_key, self.num_envs)
                actions = np.asarray(jax.vmap(lambda key: any_action(key, self.spaces.action))(keys))
            if not np.isfinite(actions).all():
                raise Diverged(f"an action of the exploring policy is nan at step {self._steps:,}")
            step = self.host.step(actions)
            gamma = np.asarray(self.agent.discount, np.float32)
            transitions = Transition(
                self.observation,
                actions,
                step.reward,
                np.asarray(effective_discount(gamma, step.terminated), np.float32),
                step.next_observation,
                np.ones_like(step.reward),
            )
            ended = step.terminated | step.truncated
            stored += int(np.sum(step.valid))
            learn = learn and stored > 0  # else, with every transition so far dropped, there is none to learn from
            self._agent_state, self._replay, self.contexts, metrics = self._learn(
                learn_key, self._agent_state, self._replay, transitions, step.valid, self.contexts, ended, learn
            )
            if learn:
                self._stored_at.append((self._steps, stored))
            self.gathered += np.where(step.valid, step.reward, 0.0)
            returns += self.gathered[ended & step.valid].tolist()  # of whole episodes, not of those a failure cut
            self.gathered[ended] = 0.0
            self.observation = step.observation
            taken += self.num_envs
            self._steps += self.num_envs
            if learn:
                updates += 1
                for name, value in metrics.items():
                    totals[name] = totals.get(name, 0.0) + value
        return Chunk(taken, np.asarray(returns), {name: float(total) / updates for name, total in totals.items()})

    def evaluate(self, episodes: int, seed: int) -> Float[np.ndarray, " episodes"]:
        """In environments of their own, so that training is not disturbed."""
        host = self._another()
        try:
            return self._returns(host, episodes, seed)
        finally:
            host.close()

    def _another(self) -> Any:
        if self._evaluation is None:
            raise RuntimeError(
                "the environment cannot be made again for evaluation; pass its name or a function that makes it"
            )
        try:
            return self._evaluation()
        except Exception as error:
            from bayesbellman.compat.gymnasium.faults import said

            raise RuntimeError(f"the environment could not be made for an evaluation: {said(error)}") from error

    def play(self, episodes: int, seed: int, keep: int) -> Played:
        """One after the other, in one environment. As in `evaluate`, those that failures cut are played again."""
        host = self._another()
        size, gamma = self.spaces.observation.size, float(self.agent.discount)
        played = Played(
            np.zeros(episodes),
            np.zeros(episodes, np.int32),
            np.zeros((episodes, keep, size), np.float32),
            np.zeros((episodes, keep)),
            np.zeros(episodes),
        )
        try:
            observation, episode, cuts = host.reset(seed), 0, 0
            while episode < episodes:
                step = host.step(np.asarray(self._best(self._agent_state, observation)))
                if step.valid[0]:
                    time, reward = int(played.lengths[episode]), float(step.reward[0])
                    if time < keep:
                        played.observations[episode, time], played.rewards[episode, time] = observation[0], reward
                    else:
                        played.rest[episode] += gamma ** (time - keep) * reward
                    played.returns[episode] += reward
                    played.lengths[episode] += 1
                observation, cut = step.observation, played.lengths[episode] >= LONGEST
                ended = step.terminated[0] or step.truncated[0]
                if ended and not step.valid[0] and not cut:
                    cuts += 1
                    _refuse_cuts(cuts, host)
                    for part in played:
                        part[episode] = 0
                elif ended or cut:
                    episode += 1
                    observation = host.reset(seed + episode) if cut else observation
        finally:
            host.close()
        return played

    def visited(self) -> Float[np.ndarray, "N d"]:
        return observed(self.replay)

    def _returns(self, host: Any, episodes: int, seed: int) -> Float[np.ndarray, " episodes"]:
        """Of several environments each plays its share: of all that end, the first would be the short ones."""
        observation, done = host.reset(seed), []
        gathered, lasted, cut = np.zeros(host.num_envs), np.zeros(host.num_envs, int), 0
        left = (episodes + np.arange(host.num_envs)) // host.num_envs
        while left.any():
            step = host.step(np.asarray(self._best(self._agent_state, observation)))
            gathered += np.where(step.valid, step.reward, 0.0)
            lasted += 1
            ended = step.terminated | step.truncated
            if np.any(lasted >= LONGEST):  # an episode without end is cut, and with it all that play beside it
                done += gathered[left > 0].tolist()
                left = np.maximum(left - 1, 0)
                observation = host.reset(seed + len(done))
                gathered[:], lasted[:] = 0.0, 0
                continue
            counted = ended & step.valid & (left > 0)
            done += gathered[counted].tolist()
            left = left - counted
            cut += int(np.sum(ended & ~step.valid & (left > 0)))
            _refuse_cuts(cut, host)
            gathered[ended], lasted[ended] = 0.0, 0
            observation = step.observation
        return np.asarray(done)

    def disagreement(self) -> float:
        batch = self.replay.sample(jax.random.fold_in(self.key, NO_STEP), self.batch_size).transitions
        values = self.agent.values(self._agent_state, batch.observation, batch.action)
        return float(jnp.mean(jnp.std(values, axis=0)))

    @property
    def replay(self) -> Replay:
        return self._replay

    def carried(self) -> Carried:
        """Of the environments, if they can be brought back: what they need for it."""
        tree = {"agent": self._agent_state, "contexts": self.contexts, "key": self.key}
        environments = self.host.snapshot()
        if environments is None:
            return Carried(tree, {})
        return Carried(tree, {**environments, "gathered": self.gathered.copy()})

    def resume(self, carried: Carried, replay: Replay, steps: int) -> str | None:
        self._agent_state, self.contexts, self.key = (carried.tree[name] for name in ("agent", "contexts", "key"))
        self._replay, self._steps = replay, steps
        try:
            if not carried.free:
                raise TypeError("a vector environment does not tell where it is")
            self.observation = self.host.restore(carried.free)
            self.gathered = np.array(carried.free["gathered"])
        except (TypeError, ValueError, KeyError, RuntimeError) as error:
            seeds = np.random.SeedSequence((self.host.seed, steps)).generate_state(1)
            self.observation = self.host.reset(int(seeds[0] >> 1))
            self.gathered = np.zeros(self.num_envs)
            begin_key = jax.random.fold_in(jax.random.fold_in(self.key, NO_STEP), steps)
            self.contexts = self._begin_all(begin_key, self._agent_state)
            return f"the environment could not be brought back ({error}); a new episode begins, so bits will differ"
        return None


def _refuse_cuts(number: int, host: Any) -> None:
    if number > MOST_CUT:
        raise RuntimeError(f"{number} episodes of one evaluation were cut by failures or bad numbers of {host.name}")
