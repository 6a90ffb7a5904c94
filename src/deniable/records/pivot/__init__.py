"""Mechanisms of which one or two privatised pivots per contributor decide everything."""
