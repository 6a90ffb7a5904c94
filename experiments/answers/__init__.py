"""Experiments on this library's own methods: ordered answers and cross tables against the best known alternatives.

``python -m experiments.answers list`` lists the tables and figures.
"""
