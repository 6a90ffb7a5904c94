"""Leakage under a prior that is only nearly known, and choice of the attributes to release at given budgets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
