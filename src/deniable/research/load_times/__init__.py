"""Load times by true confidence, a field that browsers randomise: ``deniable load-times``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
