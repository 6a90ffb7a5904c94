"""Budgets that keep what is leaked below a cap."""
