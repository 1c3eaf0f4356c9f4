"""Many trials of a non-linear evaluator side by side: each setting on each data set, errors on the way.

A trial that diverges is halted: its parameters go back to the last checkpoint at which it was sound, its step and its
curve so far are kept, and nothing of it reaches the others, which share a program but no numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.core.types import Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.training import train

Settings = Mapping[str, Float[Array, " settings"]]
"""Numbers by name, one of each per setting."""


class Trials(NamedTuple):
    """What came of them; ``D`` data sets, ``S`` settings, ``C`` checkpoints, ``M`` places."""

    steps: Int[np.ndarray, " C"]
    errors: Float[np.ndarray, "C D S"]
    """Mean squared error at the places; after a trial's divergence nan."""
    diverged: Int[np.ndarray, "D S"]
    """Training step at which a trial diverged, -1 where it did not."""
    values: Float[np.ndarray, "D S M"]
    """At the end, or at the last sound checkpoint."""


class _Progress(NamedTuple):
    state: Any
    alive: Bool[Array, "D S"]


def run_trials(
    keys: Key[Array, " D"],
    make: Callable[[Mapping[str, Array]], AbstractEstimator],
    settings: Settings,
    draw: Callable[[Key[Array, ""]], Transition],
    inputs: Float[np.ndarray, "M d"],
    values: Float[np.ndarray, " M"],
    *,
    steps: int,
    every: int,
    batch_size: int,
    bound: float = 1e3,
    report: Callable[[int], None] = lambda steps: None,
) -> Trials:
    """Train ``steps`` steps, with errors before the first and after every ``every`` of them.

    Each key makes one data set (by ``draw``), one start and one sequence of batches, which all settings share, so that
    they can be compared pair by pair. A trial has diverged when a metric of an update is not finite, or when its root
    mean squared error is above ``bound`` times the root mean square of the true values.
    """
    _check(steps, every, batch_size)
    truth, places = jnp.asarray(values, dtype=float), jnp.asarray(inputs, dtype=float)
    most = bound**2 * float(np.mean(np.asarray(values, np.float64) ** 2))

    def each(function: Callable, *belong: str) -> Callable:
        """Over data sets, and for each over settings; its arguments belong to a "trial", a "setting" or "data"."""
        over_settings = jax.vmap(function, in_axes=tuple(None if kind == "data" else 0 for kind in belong))
        return jax.vmap(over_settings, in_axes=tuple(None if kind == "setting" else 0 for kind in belong))

    def begin(setting: Mapping[str, Array], key: Array) -> Any:
        return make(setting).init(key)

    def advance(state: Any, setting: Mapping[str, Array], key: Array, data: Transition) -> tuple[Any, Array]:
        state, metrics = train(key, make(setting), state, data, every, batch_size)
        sound = jnp.all(jnp.stack([jnp.isfinite(m) for m in jax.tree.leaves(metrics)]), axis=0)
        return state, jnp.where(jnp.all(sound), every, jnp.argmin(sound))

    def judge(state: Any, setting: Mapping[str, Array]) -> tuple[Array, Array]:
        found = make(setting).value(state, places)
        return jnp.mean((found - truth) ** 2), found

    def chunk(progress: _Progress, keys: Array, data: Transition) -> tuple[_Progress, Array, Array]:
        state, sound_steps = each(advance, "trial", "setting", "data", "data")(progress.state, settings, keys, data)
        errors, _ = each(judge, "trial", "setting")(state, settings)
        alive = progress.alive & (sound_steps == every) & jnp.isfinite(errors) & (errors <= most)

        def keep(new: Array, old: Array) -> Array:
            return jnp.where(alive.reshape(alive.shape + (1,) * (new.ndim - 2)), new, old)

        kept = jax.tree.map(keep, state, progress.state)
        return _Progress(kept, alive), errors, sound_steps

    with jax.default_matmul_precision("float32"), jax.numpy_dtype_promotion("standard"):
        # by default a GPU rounds the factors of a product to 10 bits; optax mixes its types
        data_keys, init_keys, train_keys = (jax.vmap(lambda k, i=i: jax.random.fold_in(k, i))(keys) for i in range(3))
        data = jax.jit(jax.vmap(draw))(data_keys)
        count = len(next(iter(settings.values())))
        state = jax.jit(lambda: each(begin, "setting", "data")(settings, init_keys))()
        progress = _Progress(state, jnp.ones((len(keys), count), bool))
        judge_all = jax.jit(lambda state: each(judge, "trial", "setting")(state, settings))
        errors = [np.asarray(judge_all(state)[0])]
        diverged = np.full((len(keys), count), -1)
        run = jax.jit(chunk, donate_argnums=0)
        for k in range(steps // every):
            if not np.any(diverged < 0):
                errors.append(np.full_like(errors[0], np.nan))
                continue
            now = jax.vmap(lambda key, k=k: jax.random.fold_in(key, k))(train_keys)
            progress, found, sound_steps = run(progress, now, data)
            ended = (diverged < 0) & ~np.asarray(progress.alive)
            errors.append(np.where((diverged < 0), np.asarray(found, np.float64), np.nan))
            diverged[ended] = (k * every + np.minimum(np.asarray(sound_steps) + 1, every))[ended]
            report(every)
        final = np.asarray(judge_all(progress.state)[1])
    return Trials(np.arange(0, steps + 1, every), np.stack(errors), diverged, final)


def _check(steps: int, every: int, batch_size: int) -> None:
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be >= 1")
    if steps < 1 or every < 1 or steps % every:
        raise ValueError(f"steps is {steps} and every is {every}; both must be >= 1, and every must divide steps")
