"""Loss of a second phase against the default: compared with closed forms, and not determined without them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import SMP, CorrRR
from deniable.planning import records_default, second_phase_loss, two_phases_text
from deniable.planning.phase_loss import NOT_DETERMINED, loss_text
from deniable.records.pivot.corr_rr_error import expected_error

MARGINALS = [np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.25, 0.25, 0.3, 0.2])]


@pytest.mark.parametrize("copied", [0.4, 0.7])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_loss_of_corr_rr_is_that_of_its_closed_form(copied: float, epsilon: float) -> None:
    mechanism = CorrRR((4, 4), epsilon, ((1.0, copied), (copied, 1.0)))
    error = expected_error(mechanism, MARGINALS, 1, estimator="unmixed")
    usual = records_default((4, 4), epsilon).mechanism
    assert isinstance(usual, SMP)
    default = np.mean([[usual.variance(f, 1, j) + f * (1 - f) for f in m] for j, m in enumerate(MARGINALS)])
    # In one simulated phase of 10,000, the frequencies move the variance by a few percent.
    assert second_phase_loss(mechanism, MARGINALS) == pytest.approx(error.mean / default, rel=0.1)


def test_the_default_itself_loses_nothing() -> None:
    usual = records_default((4, 4), 1.0).mechanism
    assert second_phase_loss(usual, MARGINALS) == pytest.approx(1.0, rel=0.05)


def test_a_phase_without_unbiased_estimates_has_no_number() -> None:
    # Copies are always the opposite. So two answers' frequencies are seen through one difference, which has no inverse.
    blind = CorrRR((2, 2), 1.0, ((1.0, 0.0), (0.0, 1.0)))
    assert math.isnan(second_phase_loss(blind, [[0.5, 0.5], [0.3, 0.7]]))
    assert loss_text(blind, [[0.5, 0.5], [0.3, 0.7]]) == NOT_DETERMINED


def test_estimates_outside_the_simplex_are_clipped() -> None:
    mechanism = CorrRR((4, 4), 1.0, ((1.0, 0.6), (0.6, 1.0)))
    rough = [np.array([1.1, 0.1, -0.1, -0.1]), MARGINALS[1]]
    assert 1 < second_phase_loss(mechanism, rough) < 100


def test_both_phases_are_predicted_before_the_first() -> None:
    said = two_phases_text((4, 4, 4), 0.5, 500)
    assert "times the squared error of SMP[ADP], the default, on the same people, at best" in said
