"""Plans of surveys: the mechanism to use, the number of contributors needed, and the expected error."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
