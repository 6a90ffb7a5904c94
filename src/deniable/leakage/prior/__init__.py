"""Priors of an adversary: joint distributions, from records or estimates, and what one release says through them."""
