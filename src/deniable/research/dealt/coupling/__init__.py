"""Coins and reports coupled in secret random pairs: JRR and its kin."""
