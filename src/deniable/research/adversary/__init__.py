"""Adversaries who guess from one report, in closed form and as papers run them, and their benchmarks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
