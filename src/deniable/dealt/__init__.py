"""Dealt coins: a dealer who sees no data deals correlated randomness, one secret share to each contributor."""
