"""True values, where they can be had exactly."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.core.types import AnyArray
from bayesbellman.envs.finite import FiniteMDP
from bayesbellman.envs.linear_quadratic import LinearQuadratic


def finite_values(
    mdp: FiniteMDP, policy: Float[AnyArray, "S A"], gamma: float, as_published: bool = False
) -> Float[np.ndarray, " S"]:
    """``V^pi``, solved in float64 from ``V = r_pi + gamma P_pi V``; nothing follows a terminal state.

    ``as_published``: the benchmark averages transitions and rewards over actions apart from each other, which is exact
    only where the reward does not depend on the action (on its random process it is off by 0.003).
    """
    pi = np.asarray(policy, dtype=np.float64)
    transition, reward = np.asarray(mdp.transition, dtype=np.float64), np.asarray(mdp.reward, dtype=np.float64)
    step = np.einsum("sa,sat->st", pi, transition)
    if as_published:
        rewards = np.sum(step * np.einsum("sa,sat->st", pi, reward), axis=1)
    else:
        rewards = np.einsum("sa,sat,sat->s", pi, transition, reward)
    onward = step * ~np.asarray(mdp.terminal)
    return np.linalg.solve(np.eye(len(rewards)) - gamma * onward, rewards)


class QuadraticValue(NamedTuple):
    """``V(s) = s^T P s + b``."""

    matrix: Float[np.ndarray, "S S"]
    offset: float

    def __call__(self, states: Float[AnyArray, "N S"]) -> Float[np.ndarray, " N"]:
        s = np.asarray(states, dtype=np.float64)
        return np.sum((s @ self.matrix) * s, axis=1) + self.offset


def optimal_gain(env: LinearQuadratic, gamma: float, most_sweeps: int = 20_000) -> Float[np.ndarray, "D S"]:
    """``theta`` of the optimal policy ``a = theta s`` for the discounted problem, by value iteration from ``P = 0``.

    Goes on until rounding is all that changes: until the relative change is below 1e-9 and no longer falls.
    """
    a, b, q, r = _matrices(env)
    matrix, gain = np.zeros_like(q), np.zeros((b.shape[1], a.shape[0]))
    change = smallest = np.inf
    since = 0
    for _ in range(most_sweeps):
        new_gain = -gamma * np.linalg.pinv(r + gamma * b.T @ matrix @ b) @ b.T @ matrix @ a
        closed = a + b @ gain
        new_matrix = q + gain.T @ r @ gain + gamma * closed.T @ matrix @ closed
        change = max(_relative_change(new_gain, gain), _relative_change(new_matrix, matrix))
        matrix, gain = new_matrix, new_gain
        smallest, since = (change, 0) if change < smallest else (smallest, since + 1)
        if change == 0 or (smallest < 1e-9 and since >= 20):
            return gain
    raise ValueError(
        f"the gain still changes by {change:.3g} of its size after {most_sweeps} sweeps;"
        " can the control reach the state?"
    )


def _relative_change(new: np.ndarray, old: np.ndarray) -> float:
    return float(np.abs(new - old).max() / max(np.abs(new).max(), 1e-300))


def linear_quadratic_values(
    env: LinearQuadratic, gain: Float[np.ndarray, "D S"], action_noise: Float[np.ndarray, " D"], gamma: float
) -> QuadraticValue:
    """Values of the policy ``a ~ N(gain s, diag(action_noise))``, exactly: a linear equation for P, then b."""
    a, b, q, r = _matrices(env)
    closed = a + b @ gain
    reward = q + gain.T @ r @ gain
    size = len(q)
    # P = reward + gamma S^T P S, as one linear system in the entries of P
    system = np.eye(size**2) - gamma * np.kron(closed.T, closed.T)
    matrix = np.linalg.solve(system, reward.ravel()).reshape(size, size)
    process = gamma * np.sum(np.diagonal(matrix) * np.asarray(env.noise, dtype=np.float64))
    exploration = np.sum(np.diagonal(r + gamma * b.T @ matrix @ b) * action_noise)
    return QuadraticValue(matrix, float((process + exploration) / (1 - gamma)))


def _matrices(env: LinearQuadratic) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    parts = (env.dynamics, env.control, env.state_reward, env.action_reward)
    return tuple(np.asarray(part, dtype=np.float64) for part in parts)  # pyright: ignore[reportReturnType]
