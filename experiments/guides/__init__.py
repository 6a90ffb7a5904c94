"""Pictures of the guides in docs/, drawn by ``python -m experiments.guides`` from the mechanisms' own probabilities."""
