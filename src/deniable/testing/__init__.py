"""Contract tests (laws) for authors of mechanisms, which `check_mechanism` runs on one mechanism.

A law is exact if the channel can be enumerated. Tests by sampling have fixed seeds and bounds from theory. A correct
mechanism fails such a test with probability 10^-6, and every run gives the same result. No test runner is needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
