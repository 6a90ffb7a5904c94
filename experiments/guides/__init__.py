"""Pictures of the guides in docs/: made by ``python -m experiments.guides``, from the mechanisms' own probabilities."""
