"""The quirks of the benchmark's code behind the paper's linear tables, by name. All off by default.

``as_published`` of a task or method is False for none, True for all, or the names of some.
"""

from collections.abc import Collection

QUIRKS = {
    "folded-states": "sampled states are kept in 8 bits, so that 400 are folded onto 256",
    "averaged-rewards": "true values average rewards and transitions over actions separately",
    "density-sum": "Gaussian densities are normalised by the sum of the variances, not by their product",
    "early-checkpoints": "errors are recorded at the start of each stretch of data, not at its end",
    "successor-weights": "LSTD puts the importance weight on the successor and the reward, not on v v^T",
    "first-weight": "TD ignores the first importance weight of an episode",
    "trace-from-one": "the trace of BRM(lambda) starts from 1 in every entry, not from 0",
    "unstated-prior": "BBO's prior variance is not the one that the paper states",
    "float32": "BBO computes in float32, everything else in float64",
}
CORRECT: frozenset[str] = frozenset()
AS_PUBLISHED = frozenset(QUIRKS)


def quirks(as_published: bool | Collection[str]) -> frozenset[str]:
    """The quirks that are on."""
    if isinstance(as_published, bool):
        return AS_PUBLISHED if as_published else CORRECT
    if unknown := sorted(set(as_published) - AS_PUBLISHED):
        raise ValueError(f"as_published: there is no quirk {', '.join(unknown)}; there are {', '.join(QUIRKS)}")
    return frozenset(as_published)
