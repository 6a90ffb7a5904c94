"""Pages that show results, one `Page` per result, drawn as text, as self-contained HTML or as a picture."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
