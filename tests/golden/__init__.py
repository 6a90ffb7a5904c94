"""Recorded results of each registered mechanism, to show that refactoring changes no result."""
