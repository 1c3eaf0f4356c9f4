"""What ``bbo demo-linear`` runs: policy evaluation on the Boyan chain, transition by transition."""
