"""Code for studying and comparing mechanisms and for reproducing papers, which no code outside imports.

Its mechanisms have names, cards and ids like all others. Its commands, plan rows and files are found through the entry
points that other packages use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
