"""True values of the tasks, kept between runs: by rollouts they take minutes on two cores."""

import inspect
from types import ModuleType

import jax

from bayesbellman.data import interact, nonlinear_problems, problems, rollout, rollout_values, streams, truth
from bayesbellman.data.nonlinear_problems import PROBLEMS, Truth
from bayesbellman.envs import linear_quadratic, mountain_car, puddle_world
from bayesbellman.nn import policies, scaling
from bayesbellman.runs.cache import cached_arrays

MADE_BY: tuple[ModuleType, ...] = (
    interact,
    nonlinear_problems,
    problems,
    rollout,
    rollout_values,
    streams,
    truth,
    linear_quadratic,
    mountain_car,
    puddle_world,
    policies,
    scaling,
)
"""What true values depend on: with any of these changed they are made again."""


def true_values(task: str, rollouts: int) -> Truth:
    """From the cache, if it holds what this code would make."""
    content = {
        "task": task,
        "rollouts": rollouts,
        "code": {module.__name__: inspect.getsource(module) for module in MADE_BY},
        "jax": jax.__version__,
        "precision": str(jax.numpy.zeros(()).dtype),
    }
    kept = cached_arrays(f"truth-{task}", content, lambda: PROBLEMS[task].truth(rollouts)._asdict())
    return Truth(**kept)
