"""Base modules of all packages: mechanisms, aggregates, estimates, guarantees and randomness."""
