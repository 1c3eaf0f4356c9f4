"""Experience: interaction with environments, and the true values estimates are judged by."""
