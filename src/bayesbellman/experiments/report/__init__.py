"""Training runs as one page: how each seed ended, its curves, and what the agent believed on the way."""
