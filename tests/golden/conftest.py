"""What mechanisms that do not stand on their base yet lack for a recording; goes with the last of them."""

from __future__ import annotations

from typing import Any

import deniable  # noqa: F401  registers
from deniable.base import Mechanism
from deniable.collection import mechanism_sizes
from deniable.spec import _REGISTRY

for _cls in _REGISTRY.values():
    cls: Any = _cls
    if not issubclass(cls, Mechanism):
        cls.domain = property(mechanism_sizes)
        cls.records = property(lambda mechanism: hasattr(mechanism, "sizes"))
        cls.takes_text = getattr(cls, "takes_text", False)
        cls.dealt = hasattr(cls, "deal")
