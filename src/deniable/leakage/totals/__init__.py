"""Leakage of everything released together: exact totals, bounds, trees."""
