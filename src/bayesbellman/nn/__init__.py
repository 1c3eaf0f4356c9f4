"""Function approximators: features and policies now; networks and ensembles when the agents need them."""
