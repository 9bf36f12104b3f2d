"""From a history of evaluations to the next point, without knowing who asks."""
