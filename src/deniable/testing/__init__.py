"""The laws that every mechanism keeps, for authors of mechanisms: `check_mechanism` holds one to all of them.

Laws are exact where a channel can be enumerated; tests by sampling have fixed seeds and bounds from theory, so that a
correct mechanism fails one with probability 10^-6, and what fails once fails always. Nothing here needs a test runner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
