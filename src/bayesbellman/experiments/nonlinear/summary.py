"""Numbers of the non-linear study: finals and quartiles, in which a diverged trial counts as infinitely wrong."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayesbellman.experiments.artefact import Arrays, Done
from bayesbellman.experiments.nonlinear.sweep import METHODS, PROBLEMS, VARIANTS, job_name


class Curves(NamedTuple):
    """Of one variant, task and method."""

    variant: str
    task: str
    method: str
    steps: Int[np.ndarray, " C"]
    errors: Float[np.ndarray, "C D"]
    """Mean squared errors; infinite from a trial's divergence on."""
    diverged: Int[np.ndarray, " D"]
    values: Float[np.ndarray, "D M"]
    true_values: Float[np.ndarray, " M"]
    true_stderr: Float[np.ndarray, " M"]

    @property
    def final(self) -> Float[np.ndarray, " D"]:
        return self.errors[-1]

    def quartiles(self) -> Float[np.ndarray, "3 C"]:
        """Over the trials, by order alone: infinite where that many have diverged."""
        return np.quantile(self.errors, [0.25, 0.5, 0.75], axis=1, method="nearest")


def curves(done: Done) -> Iterator[Curves]:
    """In the order of the plan; what failed is missing."""
    for variant, settings in VARIANTS.items():
        for task in PROBLEMS:
            for method in METHODS:
                name = job_name(variant, task, method)
                if (task, method) in settings and name in done.results:
                    yield _curves(variant, task, method, done.results[name])


def _curves(variant: str, task: str, method: str, found: Arrays) -> Curves:
    steps, diverged = np.asarray(found["steps"]), np.asarray(found["diverged"])
    gone = (diverged >= 0) & (steps[:, None] >= diverged)
    errors = np.where(gone, np.inf, found["errors"])
    truth = np.asarray(found["true_values"]), np.asarray(found["true_stderr"])
    return Curves(variant, task, method, steps, errors, diverged, np.asarray(found["values"]), *truth)


def share_below(ours: Float[np.ndarray, " D"], theirs: Float[np.ndarray, " D"]) -> tuple[int, float, float]:
    """On how many data sets ours ends lower, and the ends of the 95 % interval (Wilson) of its probability."""
    number, z = len(ours), 1.959964
    below = int(np.sum(ours < theirs))
    share = below / number
    centre = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z / (1 + z**2 / number) * np.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    return below, float(centre - half), float(centre + half)
