"""Classical designs for paper and interviews: randomising devices, birthdays, compliance and weights."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
