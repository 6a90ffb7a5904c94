"""Engines that people run already: aggregates are sums, so any of them can add up."""
