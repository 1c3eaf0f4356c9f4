"""Function approximators: features now; networks, policies and ensembles when the agents need them."""
