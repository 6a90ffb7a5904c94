"""Plan a survey: which mechanism to use, how many contributors it needs, and how large the error will be."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
