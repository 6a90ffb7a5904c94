"""Phases of one survey: what is learned from one for the next, and their estimates together."""
