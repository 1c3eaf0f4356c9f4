"""Evaluate a policy on the Boyan chain: one call for all data, then one call per transition."""

import jax
import jax.numpy as jnp
import numpy as np

import bayesbellman as bb
from bayesbellman.data.interact import collect
from bayesbellman.data.truth import finite_values
from bayesbellman.envs.finite import boyan_chain
from bayesbellman.nn.features import triangular_features

GAMMA = 0.95

chain = boyan_chain()
experience = collect(jax.random.key(0), chain, lambda key, state: jnp.zeros((), jnp.int32), 2000, GAMMA)
table = np.asarray(triangular_features(14, 4))
v, v_next = (
    table[np.asarray(s)] for s in (experience.transitions.observation, experience.transitions.next_observation)
)
rewards = np.asarray(experience.transitions.reward)
truth = finite_values(chain, np.ones((14, 1)), GAMMA)

model = bb.LinearBBO(prior_variance=400.0).fit(v, rewards, v_next, GAMMA)
values, std = model.predict(table, return_std="value")
print("state   true  estimate   +-")
for state in range(14):
    print(f"{state:5d} {truth[state]:7.2f} {values[state]:8.2f} {1.96 * std[state]:6.2f}")

online = bb.LinearBBO(prior_variance=400.0)
for i in range(len(rewards)):
    online.partial_fit(v[i : i + 1], rewards[i : i + 1], v_next[i : i + 1], GAMMA)
print("one by one, the same answer:", np.allclose(online.omega_, model.omega_))
