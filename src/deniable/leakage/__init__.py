"""Leakage that a release causes about the released attribute, about related attributes, and in total.

Every figure says whether it is exact, an upper bound, or true under an assumption. ``docs/theory/leakage.md`` has short
proofs and explains how to read the numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
