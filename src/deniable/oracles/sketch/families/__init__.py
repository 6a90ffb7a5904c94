"""Families of public hash functions for count-mean sketches, one per file.

A family maps the domain {0, ..., k-1} to m cells so that any two different values collide with the *same* probability.
The estimator needs to know only this constant about a family.
"""
