"""Search domains, trust regions, and maximisers of the acquisition."""
