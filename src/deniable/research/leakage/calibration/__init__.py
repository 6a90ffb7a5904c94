"""Budgets that keep leakage below a cap."""
