"""Results of studies of sparse tasks, made up."""

import json
from pathlib import Path

import numpy as np

from bayesbellman.experiments.artefact import Arrays, Plan


def put_settings(plan: Plan, folder: Path) -> None:
    """What a study's checks read of its provenance."""
    (folder / "provenance.json").write_text(json.dumps({"settings": plan.settings}), encoding="utf-8")


def faked(groups: list[str], seeds: int, returns: np.ndarray, shape: tuple[int, int] = (36, 24)) -> Arrays:
    """Results as a job leaves them, from the returns of all evaluations and runs; rewarded where they are positive."""
    runs, number = len(groups) * seeds, len(returns)
    rewarded = (returns > 0).astype(np.int32)
    first = np.where(rewarded.any(axis=0), 10_000.0 * np.argmax(rewarded, axis=0) + 7, np.inf)
    rng = np.random.default_rng(0)
    return {
        "group": np.repeat(groups, seeds),
        "seed": np.tile(np.arange(seeds), len(groups)),
        "steps": 10_000 * np.arange(1, number + 1),
        "returns": returns,
        "rewarded_steps": 5 * rewarded,
        "rewarded_episodes": rewarded,
        "first_reward": first,
        "disagreement": np.ones((number, runs)),
        "critic_loss": np.ones((number, runs)),
        "moments": np.array([10_000, 10_000 * number]),
        "visits": rng.integers(0, 9, (2, runs, *shape)),
        "spread": rng.uniform(0, 1, (2, runs, *shape)),
        "seconds": np.array(12.0),
    }


def curves(*solved: bool) -> np.ndarray:
    """Twelve evaluations; where it is solved, the last eleven are above 500."""
    return np.array([[600.0 if up and k > 0 else -3.0 for up in solved] for k in range(12)])
