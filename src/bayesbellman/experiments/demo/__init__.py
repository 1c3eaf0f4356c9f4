"""The demonstration that ``make demo`` runs: policy evaluation on the Boyan chain, transition by transition."""
