"""Phases of one survey: learning from one phase for the next, and combining the estimates of all phases."""
