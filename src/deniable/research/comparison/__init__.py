"""Mechanisms of papers and of other libraries, side by side on the same data and seeds: ``deniable bench compare``."""
