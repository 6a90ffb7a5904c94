"""Local differential privacy: from randomised answers to frequencies with honest error bars."""

import lazy_loader

_own, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("deniable")
    return _own(name)
