"""Post-processing steps, which turn a raw estimate into a consistent estimate that lists the steps taken."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
