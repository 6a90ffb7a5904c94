"""Questions of an estimate, measured: ordered answers and cross tables against the best known alternatives.

``python -m experiments.answers list`` names the tables and figures.
"""
