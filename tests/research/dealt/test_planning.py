"""Plans for mechanisms with a dealer: listed apart, with their trust, and never recommended."""

from __future__ import annotations

import math

import pytest

from deniable.errors import InvalidParameterError
from deniable.planning import plan
from deniable.research.dealt.planning import MAX_DEALT, TRUST, dealt_rows


def test_rows_of_one_attribute() -> None:
    result = plan([4], 0.5, contributors=10_000)
    assert [row.name for row in result.dealt] == ["QuotaRR", "QuotaUnary", "KaryJRR"]
    for row in result.dealt:
        assert TRUST in row.note
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
    """A dealer has .071 of randomised response's variance at f = .05, epsilon = .5, n = 10,000."""
    row, jrr = dealt_rows((2,), 0.5, 10_000, frequency=0.05)
    assert (row.name, row.note) == ("QuotaRR", TRUST)
    plain = math.exp(0.5) / (math.exp(0.5) - 1) ** 2 / 10_000
    assert row.standard_error is not None
    assert row.standard_error**2 / plain == pytest.approx(0.071, abs=0.0005)
    # This is JRR at its extreme, in the same table.
    assert jrr.standard_error is not None
    assert jrr.standard_error**2 / plain == pytest.approx(0.509, abs=0.002)


def test_jrr_is_shown_with_what_its_epsilon_leaves_out() -> None:
    """At nominal .1, an adversary who knows all other data has .338 at delta = 1e-6 (n = 10,000, five colluders)."""
    _, jrr = dealt_rows((2,), 0.1, 10_000)
    assert jrr.name == "JRR"
    assert "epsilon = 0.1 only against who reads one report and 5 colluders' shares" in jrr.note
    assert "has 0.338 at delta = 1e-06, and no bound at delta = 0" in jrr.note
    assert "QuotaRR keeps its epsilon" in jrr.note


def test_jrr_has_no_row_where_its_optimum_is_randomised_response() -> None:
    assert [row.name for row in dealt_rows((2,), 0.1, 10_000, frequency=0.5)] == ["QuotaRR"]
    assert "KaryJRR" not in [row.name for row in dealt_rows((20,), 0.5, 10_000)]


@pytest.mark.parametrize("name", ["QuotaRR", "jrr", "QuotaRecords"])
def test_dealt_mechanisms_are_not_compared_by_name(name: str) -> None:
    for sizes in ([2], [2, 3]):
        with pytest.raises(InvalidParameterError, match="needs a dealer: the whole plan"):
            plan(sizes, 0.5, contributors=100, mechanisms=[name])


def test_rows_of_records_and_targets() -> None:
    (row,) = dealt_rows((2, 5), 0.5, 10_000, target_error=0.01, frequency=0.5)
    assert row.name == "QuotaRecords"
    assert not row.feasible
    assert "with 10,000 contributors, not ±0.01" in row.reason


def test_no_rows_without_a_number_of_contributors_or_where_a_deal_is_impossible() -> None:
    assert plan([4], 0.5, target_error=0.1).dealt == ()
    assert plan([4], 0.5, contributors=1000, mechanisms=["GRR"]).dealt == ()
    assert plan([4], 0.5, contributors=1).dealt == ()
    assert dealt_rows((2,), 0.5, MAX_DEALT + 1) == ()
    assert [row.name for row in dealt_rows((100_000,), 0.5, 1000)] == []
