"""Posteriors over Bellman operators. This room knows no reward, no environment and no policy: only `BellmanSamples`."""
