"""Numbers of the non-linear study: finals and quartiles, in which a diverged trial counts as infinitely wrong."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayesbellman.experiments.artefact import Arrays, Done
from bayesbellman.experiments.nonlinear.sweep import METHODS, PROBLEMS, VARIANTS


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


def curves(done: Done) -> list[Curves]:
    """By variant, task and method, in the order of their tables; what failed is missing."""
    found = [one for arrays in done.results.values() for one in _curves(arrays)]
    orders = [list(names).index for names in (VARIANTS, PROBLEMS, METHODS)]
    return sorted(found, key=lambda one: [order(name) for order, name in zip(orders, one[:3], strict=True)])


def _curves(found: Arrays) -> Iterator[Curves]:
    """One per setting of a program."""
    steps, truth = np.asarray(found["steps"]), (np.asarray(found["true_values"]), np.asarray(found["true_stderr"]))
    for i, (variant, method) in enumerate(zip(found["variant"], found["method"], strict=True)):
        diverged = np.asarray(found["diverged"])[:, i]
        gone = (diverged >= 0) & (steps[:, None] >= diverged)
        errors = np.where(gone, np.inf, found["errors"][:, :, i])
        values = np.asarray(found["values"])[:, i]
        yield Curves(str(variant), str(found["task"]), str(method), steps, errors, diverged, values, *truth)


def share_below(ours: Float[np.ndarray, " D"], theirs: Float[np.ndarray, " D"]) -> tuple[int, float, float]:
    """On how many data sets ours ends lower, and the ends of the 95 % interval (Wilson) of its probability."""
    number, z = len(ours), 1.959964
    below = int(np.sum(ours < theirs))
    share = below / number
    centre = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z / (1 + z**2 / number) * np.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    return below, float(centre - half), float(centre + half)
