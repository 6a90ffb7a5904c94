"""Files of a dealer: files of shares, and the functions that deal them and hand them out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
