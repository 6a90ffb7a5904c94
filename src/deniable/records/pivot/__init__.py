"""Mechanisms in which one or two privatised pivots per contributor decide the whole report."""
