"""Priors of an adversary as joint distributions, from records or estimates, and the leakage of one release."""
