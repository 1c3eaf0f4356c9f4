"""What is run on Tsitsiklis' triangle: five methods and two priors, 3,000 updates on all six transitions."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bayesbellman.core.types import Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.nonlinear_bbo import GradientFormBBO, TwoTimescaleBBO
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose, refuse, slug
from bayesbellman.nn.spiral import Spiral
from bayesbellman.posterior.map_estimate import MAPEstimate

GAMMA, STEPS, QUICK_STEPS = 0.9, 3_000, 200
STATES, NEXT_STATES = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 2, 0, 1, 1, 2])


def all_transitions() -> Transition:
    """Each of the six once: each state's two successors are equally likely, so that is the expectation."""
    return Transition(
        observation=jnp.asarray(STATES),
        action=None,
        reward=jnp.zeros(6),
        discount=jnp.full(6, GAMMA),
        next_observation=jnp.asarray(NEXT_STATES),
        weight=jnp.ones(6),
    )


def normalised(size: float) -> optax.GradientTransformation:
    """Steps of this length down the gradient, whatever its size: how the paper stabilises them."""
    return optax.chain(optax.normalize_by_update_norm(eps=1e-12), optax.scale(-size))


def start(key: jax.Array) -> Spiral:
    """omega = 0, where the values are (-15, -35, 50)."""
    return Spiral(jnp.zeros(()))


def map_posterior(prior_weight: float = 0.0) -> MAPEstimate:
    return MAPEstimate(start, normalised(0.8), prior_weight)


METHODS: dict[str, Callable[[], AbstractEstimator]] = {
    "BBO": lambda: GradientFormBBO(posterior=map_posterior(), slow=normalised(0.1)),
    "BBO, fixed prior": lambda: GradientFormBBO(posterior=map_posterior(1.0), slow=normalised(0.1)),
    "BBO, moving prior": lambda: GradientFormBBO(
        posterior=map_posterior(1.0), slow=normalised(0.1), moving_anchor=True
    ),
    "BBO, two timescales": lambda: TwoTimescaleBBO(posterior=map_posterior(), slow=normalised(0.1)),
    "TD(0)": lambda: NonlinearTD(start, "none", normalised(2e-3)),
    "TDC": lambda: NonlinearTD(start, "tdc", normalised(0.1), optax.sgd(1.0), scaled_zeta=True),
    "GTD2": lambda: NonlinearTD(start, "gtd2", normalised(0.1), optax.sgd(0.8), scaled_zeta=True),
}
"""With the paper's steps (`tab:tsitsiklis-triangle-hyperparameters`); "BBO" is the gradient form, without a prior."""


def plan(request: Request) -> Plan:
    methods = choose("methods", request.methods, tuple(METHODS))
    refuse("tsitsiklis", request, "tasks", "variants")
    if request.seeds not in (None, 1):
        raise ValueError(f"--seeds is {request.seeds}; nothing is random on the triangle, leave it out")
    steps = QUICK_STEPS if request.quick else STEPS
    jobs = tuple(Job(slug(m), steps, partial(run_job, m, steps)) for m in methods)
    return Plan({"methods": list(methods), "steps": steps}, "updates", jobs)


def run_job(method: str, steps: int) -> Arrays:
    """omega before the first update and after each."""
    with jax.enable_x64(True):
        estimator, batch = METHODS[method](), all_transitions()

        def one(state, key):
            state, _ = estimator.update(key, state, batch)
            return state, state.omega.omega

        keys = jax.random.split(jax.random.key(0), steps)
        path = jax.jit(lambda keys: jax.lax.scan(one, estimator.init(keys[0]), keys)[1])(keys)
        return {"omega": np.concatenate([[0.0], np.asarray(path)])}
