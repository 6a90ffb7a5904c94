"""Comparison of mechanisms of papers and of other libraries on the same data and seeds: ``deniable bench compare``."""
