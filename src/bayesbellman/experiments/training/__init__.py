"""Training an agent for several seeds, with its curve and report; and a look at what it learnt."""
