"""Reproductions of published tables and figures through the public API: ``python -m experiments.PAPER NAME``."""
