"""True values, where they can be had exactly."""

import numpy as np
from jaxtyping import Float

from bayesbellman.core.types import AnyArray
from bayesbellman.envs.finite import FiniteMDP


def finite_values(mdp: FiniteMDP, policy: Float[AnyArray, "S A"], gamma: float) -> Float[np.ndarray, " S"]:
    """``V^pi``, solved in float64 from ``V = r_pi + gamma P_pi V``; nothing follows a terminal state."""
    pi = np.asarray(policy, dtype=np.float64)
    transition = np.asarray(mdp.transition, dtype=np.float64)
    rewards = np.einsum("sa,sat,sat->s", pi, transition, np.asarray(mdp.reward, dtype=np.float64))
    onward = np.einsum("sa,sat->st", pi, transition) * ~np.asarray(mdp.terminal)
    return np.linalg.solve(np.eye(len(rewards)) - gamma * onward, rewards)
