"""*The Hidden Cost of Correlation* (2025): leakage through correlation, measured, computed exactly and corrected.

``python -m experiments.cpl list`` lists the tables and figures.
"""
