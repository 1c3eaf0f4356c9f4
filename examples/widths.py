"""What each width means: how often a 90 % band of each kind holds what it is about.

2,000 data sets of 18 transitions on a ring of three states, rewards Gaussian with a known variance (so the model is
right). Held against: the true value of state 0, the true Bellman backup of the estimate there, and a new target there.
"""

import numpy as np

import bayesbellman as bb

TRIALS, REPEATS, GAMMA, NOISE, Z90 = 2_000, 6, 0.9, 0.5, 1.644854
ring = np.roll(np.eye(3), 1, axis=1)  # state i goes to state i + 1
mean_reward = np.array([1.0, -1.0, 0.5])
truth = np.linalg.solve(np.eye(3) - GAMMA * ring, mean_reward)
v, v_next = np.tile(np.eye(3), (REPEATS, 1)), np.tile(ring, (REPEATS, 1))

rng = np.random.default_rng(0)
held = {width: np.zeros(3) for width in ("epistemic", "predictive", "value")}
for _ in range(TRIALS):
    rewards = np.tile(mean_reward, REPEATS) + rng.normal(scale=np.sqrt(NOISE), size=len(v))
    model = bb.LinearBBO(prior_variance=1e6, noise_variance=NOISE).fit(v, rewards, v_next, GAMMA)
    backup = mean_reward[0] + GAMMA * (ring @ model.omega_)[0]
    target = backup + rng.normal(scale=np.sqrt(NOISE))
    for width, counts in held.items():
        value, std = model.predict(np.eye(3)[:1], return_std=width)
        counts += np.abs(value[0] - np.array([truth[0], backup, target])) < Z90 * std[0]

print("90 % band        holds the true value   the Bellman backup   a new target")
for width, counts in held.items():
    print(f"{width:15s}" + "".join(f"{100 * share:18.1f} %" for share in counts / TRIALS))
print(f"standard error of an entry at 90 %: {100 * np.sqrt(0.9 * 0.1 / TRIALS):.1f} %")
