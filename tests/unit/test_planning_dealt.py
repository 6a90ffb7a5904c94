"""What a plan says about mechanisms with a dealer: apart from the others, with their trust, never recommended."""

from __future__ import annotations

import math

import pytest

from deniable.planning import plan
from deniable.planning.dealt import MAX_DEALT, TRUST, dealt_rows


def test_rows_of_one_attribute() -> None:
    result = plan([4], 0.5, contributors=10_000)
    assert [row.name for row in result.dealt] == ["QuotaRR", "QuotaUnary"]
    for row in result.dealt:
        assert row.note == TRUST
        assert not row.recommended
        assert row.mechanism is not None
    grr = next(row for row in result.rows if row.name == "GRR")
    assert result.recommended is grr
    quota = result.dealt[0]
    assert quota.standard_error is not None
    assert grr.standard_error is not None
    assert quota.standard_error < grr.standard_error / 5
    assert not {row.name for row in result.rows} & {"QuotaRR", "QuotaUnary", "QuotaRecords"}


def test_numbers_are_those_of_the_contract() -> None:
    """A dealer's variance at f = .05 is .071 of randomised response's at epsilon = .5, n = 10,000."""
    (row,) = dealt_rows((2,), 0.5, 10_000, frequency=0.05)
    plain = math.exp(0.5) / (math.exp(0.5) - 1) ** 2 / 10_000
    assert row.standard_error is not None
    assert row.standard_error**2 / plain == pytest.approx(0.071, abs=0.0005)


def test_rows_of_records_and_targets() -> None:
    (row,) = dealt_rows((2, 5), 0.5, 10_000, target_error=0.01, frequency=0.5)
    assert row.name == "QuotaRecords"
    assert not row.feasible
    assert "with 10,000 contributors, not +-0.01" in row.reason


def test_no_rows_without_a_number_of_contributors_or_where_a_deal_is_impossible() -> None:
    assert plan([4], 0.5, target_error=0.1).dealt == ()
    assert plan([4], 0.5, contributors=1000, mechanisms=["GRR"]).dealt == ()
    assert plan([4], 0.5, contributors=1).dealt == ()
    assert dealt_rows((2,), 0.5, MAX_DEALT + 1) == ()
    assert [row.name for row in dealt_rows((100_000,), 0.5, 1000)] == []
