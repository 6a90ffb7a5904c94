"""Local differential privacy: from randomised answers to frequencies with honest error bars."""

import lazy_loader

from deniable.core.renderers import RENDERERS

_own, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _figure(estimates: object) -> object:
    from deniable.report.notebook import figure

    return figure(estimates)


def _html(estimates: object) -> object:
    from deniable.report.notebook import framed

    return framed(estimates)


RENDERERS |= {"figure": _figure, "html": _html}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("deniable")
    return _own(name)
