"""Leakage figures: how much a release reveals about the released attribute, about related attributes, and in total.

Every figure says what it is: exact, an upper bound, or true under an assumption. ``docs/theory/leakage.md`` has the
proofs in short and how to read the numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
