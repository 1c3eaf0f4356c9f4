"""The finite problems of the linear benchmark: the Boyan chain, and the random process on- and off-policy."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from bayesbellman.data.problems import EvaluationMeasure, LinearProblem, visited
from bayesbellman.data.streams import uniform_episodes
from bayesbellman.data.truth import finite_values
from bayesbellman.envs.finite import FoldedMDP, boyan_chain, random_mdp
from bayesbellman.nn.features import TableFeatures, random_features, triangular_features
from bayesbellman.nn.policies import TabularPolicy

GAMMA = 0.95
EVALUATION_SEED, EVALUATION_STEPS = 1000, 100_000
"""The benchmark measures mu once, on this many transitions; it is a constant of the problem, whatever the streams."""
FEATURE_SEED, POLICY_SEED = 1, 3
NUM_FEATURES = 200
LOOPS_BEFORE_RESTART = 14


def boyan(quirks: frozenset[str], draw: int) -> LinearProblem:
    """The 14-state chain with 4 features and one action. Nothing in it is random but the transitions."""
    chain, features = boyan_chain(), triangular_features(14, 4)
    policy = TabularPolicy(jnp.ones((14, 1)))
    return LinearProblem(
        env=chain,
        behaviour=policy,
        target=None,
        features=TableFeatures(features),
        gamma=GAMMA,
        measure=EvaluationMeasure(
            weights=_frequencies(_boyan_visits(), 14),
            features=np.asarray(features, dtype=np.float64),
            values=finite_values(chain, np.ones((14, 1)), GAMMA),
        ),
    )


def random_process(off_policy: bool, quirks: frozenset[str], draw: int) -> LinearProblem:
    """400 states, 10 actions, 200 random features; ``draw`` seeds the process itself, which the benchmark leaves open.

    Quirks: the sampler folds 400 states into 256 (`FoldedMDP`), and the true values are slightly off (`finite_values`).
    """
    mdp = random_mdp(draw)
    num_states, num_actions = mdp.transition.shape[:2]
    tables = np.random.RandomState(POLICY_SEED).random_sample((2, num_states, num_actions))
    tables /= tables.sum(axis=2, keepdims=True)
    behaviour, target = tables[0], tables[1] if off_policy else tables[0]
    env = FoldedMDP(mdp) if "folded-states" in quirks else mdp
    policy = TabularPolicy(jnp.asarray(behaviour, dtype=float))
    noise = uniform_episodes(np.random.RandomState(EVALUATION_SEED), 1, EVALUATION_STEPS)
    features = random_features(FEATURE_SEED, num_states, NUM_FEATURES)
    return LinearProblem(
        env=env,
        behaviour=policy,
        target=TabularPolicy(jnp.asarray(target, dtype=float)) if off_policy else None,
        features=TableFeatures(features),
        gamma=GAMMA,
        measure=EvaluationMeasure(
            weights=_frequencies(visited(env, policy, noise), num_states),
            features=np.asarray(features, dtype=np.float64),
            values=finite_values(mdp, target, GAMMA, as_published="averaged-rewards" in quirks),
        ),
    )


def _frequencies(states: Int[np.ndarray, " steps"], num_states: int) -> Float[np.ndarray, " S"]:
    return np.bincount(states, minlength=num_states) / len(states)


def _boyan_visits() -> Int[np.ndarray, " steps"]:
    """States of the chain as the benchmark counts them: a new start after 14 self-loops in the last state.

    Training episodes end otherwise, after 20 transitions, so mu gives the last state more weight than they do.
    """
    numbers = iter(np.random.RandomState(EVALUATION_SEED).random_sample(3 * EVALUATION_STEPS))
    states = np.zeros(EVALUATION_STEPS, dtype=np.int64)
    next(numbers)  # the start, which is always state 0
    state, loops = 0, 0
    for step in range(EVALUATION_STEPS):
        states[step] = state
        next(numbers)  # the action, of which there is one
        ahead = 1 + int(next(numbers) >= 0.5)
        loops += state == 13
        state = min(state + ahead, 13)
        if loops == LOOPS_BEFORE_RESTART:
            next(numbers)
            state, loops = 0, 0
    return states
