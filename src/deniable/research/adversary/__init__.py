"""Adversaries who guess from one report, in closed form and as in papers, and the benchmarks of these papers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
