"""Code that is here to study, to compare and to reproduce papers; nothing outside imports it.

Its mechanisms have names, cards and ids like all others, and its commands, plan rows and files come in by the entry
points that other packages use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
