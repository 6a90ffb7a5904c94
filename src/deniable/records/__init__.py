"""Mechanisms for several attributes, which take records int[n, d] and give one estimate per attribute."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
