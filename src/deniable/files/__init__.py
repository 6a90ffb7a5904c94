"""Read and write files of answers and reports, and run streaming jobs over them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
