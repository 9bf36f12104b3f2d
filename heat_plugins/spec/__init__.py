"""What a user says about the objective, as values that can be stored."""
