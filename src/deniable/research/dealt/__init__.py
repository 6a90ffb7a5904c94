"""Mechanisms with a dealer, who sees no data and deals a secret share of random draws to each contributor."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
