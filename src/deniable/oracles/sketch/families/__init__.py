"""Families of public hash functions for count-mean sketches, one per file.

A family maps the domain {0, ..., k-1} to m cells so that any two different values collide with the *same* probability;
that constant is all the estimator needs to know about it.
"""
