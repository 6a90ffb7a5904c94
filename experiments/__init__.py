"""Reproductions of published tables and figures, through the public API only: ``python -m experiments.PAPER NAME``."""
