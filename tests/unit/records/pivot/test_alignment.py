"""Maps between domains of different sizes."""

from __future__ import annotations

import pytest

from deniable.errors import InvalidParameterError
from deniable.records.pivot.alignment import contiguous_map, copied_frequencies


def test_contiguous_maps() -> None:
    assert contiguous_map(7, 3) == (0, 0, 0, 1, 1, 2, 2)
    assert contiguous_map(4, 4) == (0, 1, 2, 3)
    with pytest.raises(InvalidParameterError, match="groups must be <= 3, got groups=4"):
        contiguous_map(3, 4)


def test_copied_frequencies_by_hand() -> None:
    sizes = (2, 5)
    assert copied_frequencies([0.3, 0.2, 0.1, 0.3, 0.1], sizes, (), 1, 0) == pytest.approx([0.6, 0.4])
    assert copied_frequencies([0.6, 0.4], sizes, (), 0, 1) == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2])
    own = ((1, 0, (0, 1, 1, 1, 1)),)
    assert copied_frequencies([0.6, 0.4], sizes, own, 0, 1) == pytest.approx([0.6, 0.1, 0.1, 0.1, 0.1])
