"""Post-processing: from a raw estimate to one that is consistent, and says what was done."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
