"""Total leakage of everything released together: exact figures, bounds, and tree priors."""
