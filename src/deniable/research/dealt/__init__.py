"""Dealt coins: a dealer who sees no data deals correlated randomness, one secret share to each contributor."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
