"""From values to a posterior: the Gaussian process and how it is learnt."""
