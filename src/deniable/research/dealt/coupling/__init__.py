"""Mechanisms whose random draws or reports are correlated within secret random pairs: JRR and similar mechanisms."""
