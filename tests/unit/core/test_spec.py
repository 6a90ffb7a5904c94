"""Specifications of mechanisms."""

from __future__ import annotations

import pytest

from deniable.core.spec import from_spec
from deniable.errors import FileFormatError


def test_special_cases_are_no_specifications() -> None:
    with pytest.raises(FileFormatError, match="unknown mechanism “OLH”"):
        from_spec({"mechanism": "OLH", "k": 4, "epsilon": "1"})
