"""Randomised priors beside the posterior they stand for, sampled by NUTS, on a small regression problem with a network.

    python benchmarks/randomised_prior.py [--out results/randomised_prior] [--members 200] [--samples 1000]

Twenty points of a sine in two clusters, noise of deviation 0.1, a network of 16 tanh units whose 49 parameters are
N(0, 1) beforehand. The reference: four chains of NUTS (blackjax). The ensemble: anchored parameters drawn from the same
prior, with target noise and without.
"""

import argparse
import json
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import blackjax  # pyright: ignore[reportMissingImports] # of the peers alone
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.figure import Figure

from bayesbellman.core.types import BellmanSamples
from bayesbellman.experiments.plotting import BLUE, FAINT, INK, ORANGE, style
from bayesbellman.nn.mlp import MLP
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import RandomisedPrior
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

SEED, NOISE, PRIOR_VARIANCE, HIDDEN, STEPS, CHAINS = 0, 0.01, 1.0, 16, 8_000, 4
GRID = np.linspace(-2.0, 2.0, 81)[:, None]
HEADER = (
    "posterior",
    "std where data are",
    "std between the clusters",
    "std outside",
    "rms difference of means",
    "of stds",
)


def data() -> BellmanSamples:
    rng = np.random.default_rng(SEED)
    x = np.concatenate([rng.uniform(-1.2, -0.6, 10), rng.uniform(0.4, 1.0, 10)])[:, None]
    y = np.sin(3 * x[:, 0]) + np.sqrt(NOISE) * rng.normal(size=20)
    return BellmanSamples(jnp.asarray(x), jnp.asarray(y), jnp.ones(20), jnp.arange(20))


def from_the_prior(key: jax.Array) -> MLP:
    flat, unravel = jax.flatten_util.ravel_pytree(MLP.glorot(key, 1, (HIDDEN,), jnp.tanh))
    return unravel(jnp.sqrt(PRIOR_VARIANCE) * jax.random.normal(key, flat.shape, dtype=flat.dtype))


def nuts(key: jax.Array, samples: int) -> tuple[np.ndarray, float]:
    """Predictions on the grid by each draw of each chain, and the largest R-hat of the predictions."""
    observed = data()
    _, unravel = jax.flatten_util.ravel_pytree(from_the_prior(key))

    def log_density(flat: jax.Array) -> jax.Array:
        errors = observed.targets - unravel(flat)(observed.inputs)
        return -jnp.sum(errors**2) / (2 * NOISE) - jnp.sum(flat**2) / (2 * PRIOR_VARIANCE)

    def chain(key: jax.Array) -> jax.Array:
        start_key, warm_key, run_key = jax.random.split(key, 3)
        start = jax.flatten_util.ravel_pytree(from_the_prior(start_key))[0]
        adapt = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adapt.run(warm_key, start, num_steps=1_000)
        step = blackjax.nuts(log_density, **parameters).step

        def one(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            state, _ = step(key, state)
            return state, unravel(state.position)(jnp.asarray(GRID))

        return jax.lax.scan(one, state, jax.random.split(run_key, samples))[1]

    draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(key, CHAINS)))
    within, between = draws.var(axis=1, ddof=1).mean(axis=0), draws.mean(axis=1).var(axis=0, ddof=1)
    r_hat = float(np.sqrt((within * (samples - 1) / samples + between) / within).max())
    return draws.reshape(-1, len(GRID)), r_hat


def ensemble(key: jax.Array, members: int, target_noise: bool) -> np.ndarray:
    """Predictions on the grid by each member."""
    rate = optax.cosine_decay_schedule(1e-2, STEPS)
    member = MAPEstimate(from_the_prior, optax.adam(rate), 1 / (2 * PRIOR_VARIANCE), 1 / 20, NOISE)
    posterior = RandomisedPrior(member, members, "anchored", target_noise=target_noise)

    def one(state: Any, step_key: jax.Array) -> tuple[Any, None]:
        return posterior.update(step_key, state, data())[0], None

    run = jax.jit(lambda keys: jax.lax.scan(one, posterior.init(key), keys)[0])
    state = run(jax.random.split(key, STEPS))
    return np.asarray(jax.vmap(lambda network: network(jnp.asarray(GRID)))(posterior.members(state)))


def row(name: str, draws: np.ndarray, reference: np.ndarray) -> tuple:
    x = GRID[:, 0]
    inside = ((x > -1.2) & (x < -0.6)) | ((x > 0.4) & (x < 1.0))
    between, outside = (x > -0.5) & (x < 0.3), (x < -1.4) | (x > 1.2)
    std = draws.std(axis=0)
    widths = [float(np.sqrt(np.mean(std[part] ** 2))) for part in (inside, between, outside)]
    means = float(np.sqrt(np.mean((draws.mean(axis=0) - reference.mean(axis=0)) ** 2)))
    return (name, *widths, means, float(np.sqrt(np.mean((std - reference.std(axis=0)) ** 2))))


def draw(found: dict[str, np.ndarray]) -> Figure:
    observed, x = data(), GRID[:, 0]
    with style():
        figure = Figure(figsize=(10, 3.2))
        panels = figure.subplots(1, len(found), sharey=True)
        for axes, (name, draws), colour in zip(panels, found.items(), (FAINT, BLUE, ORANGE), strict=True):
            mean, std = draws.mean(axis=0), draws.std(axis=0)
            axes.fill_between(x, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.3, lw=0)
            axes.plot(x, mean, color=colour)
            axes.plot(np.asarray(observed.inputs)[:, 0], np.asarray(observed.targets), ".", color=INK, ms=4)
            axes.set_title(f"{name}, {len(draws):,} draws")
            axes.set_xlabel("x")
        panels[0].set_ylabel("mean ± 2 standard deviations")
        return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--samples", type=int, default=1_000)
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        key, seconds, found, start = jax.random.key(SEED), {}, {}, time.perf_counter()
        found["NUTS"], r_hat = nuts(key, arguments.samples)
        seconds["NUTS"] = time.perf_counter() - start
        for name, noisy in (("randomised priors", True), ("without target noise", False)):
            start = time.perf_counter()
            found[name] = ensemble(key, arguments.members, noisy)
            seconds[name] = time.perf_counter() - start
    rows = [row(name, draws, found["NUTS"]) for name, draws in found.items()]
    print(aligned(HEADER, rows))
    print(f"largest R-hat of NUTS: {r_hat:.3f}; seconds: {seconds}; blackjax {metadata.version('blackjax')}")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        origin = {
            **provenance(),
            "blackjax": metadata.version("blackjax"),
            "seed": SEED,
            "r_hat": r_hat,
            "seconds": seconds,
        }
        result = {"rows": [dict(zip(HEADER, r, strict=True)) for r in rows], "origin": origin}
        (arguments.out / "randomised_prior.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        draw(found).savefig(arguments.out / "randomised_prior.png")
        text = f"# Randomised priors beside NUTS\n\n![Predictions](randomised_prior.png)\n\n{markdown(HEADER, rows)}\n"
        made = f"\n## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```\n"
        (arguments.out / "report.md").write_text(text + made, encoding="utf-8")


if __name__ == "__main__":
    main()
