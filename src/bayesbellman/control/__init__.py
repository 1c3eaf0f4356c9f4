"""Agents that act: the Bayesian Bellman actor-critic and its baselines, and the loop that trains them."""
