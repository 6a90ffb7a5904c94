"""*The Hidden Cost of Correlation* (2025): leakage through correlation, measured, exact and corrected.

``python -m experiments.cpl list`` names the tables and figures.
"""
