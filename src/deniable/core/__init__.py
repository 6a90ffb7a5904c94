"""Bases of all packages: mechanisms, aggregates, estimates, guarantees, randomness."""
