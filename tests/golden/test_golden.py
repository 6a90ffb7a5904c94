"""No recorded result has changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden import recording

ENTRIES: dict[str, Any] = json.loads(recording.PATH.read_text())


def _models(entry: dict[str, Any]) -> list[Any]:
    """Remove the rows of a guarantee whose bounds are sums that processors round differently."""
    rows: list[Any] = entry["guarantee"].pop("trust_models")
    return rows


@pytest.mark.parametrize("name", ENTRIES)
def test_a_mechanism_does_what_it_did(name: str) -> None:
    golden, now = ENTRIES[name], json.loads(json.dumps(recording.record(ENTRIES[name]["spec"])))
    # Sums may be taken in another order. So the analyst's floats agree to twelve digits, and everything else exactly.
    assert now.pop("bits") == pytest.approx(golden.pop("bits"), rel=1e-12)
    for (epsilon, *rest), (expected, *before) in zip(_models(now), _models(golden), strict=True):
        assert float(epsilon) == pytest.approx(float(expected), rel=1e-14)
        assert rest == before
    for before, after in zip(golden["runs"], now["runs"], strict=True):
        for old, new in zip(before.pop("estimates"), after.pop("estimates"), strict=True):
            for key, values in old.items():
                expected = pytest.approx(list(map(float, values)), rel=1e-12, abs=1e-12, nan_ok=True)
                assert list(map(float, new[key])) == expected, key
    assert now == golden
