"""Answers to questions about estimates (differences, ratios, strata, missing answers), and summaries as data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
