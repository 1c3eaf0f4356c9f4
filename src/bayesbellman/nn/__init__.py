"""Function approximators: features, policies, networks, prior functions, and how observations are scaled."""
