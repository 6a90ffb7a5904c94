"""Privacy statement to show before any result that combines plain columns with reports."""

from __future__ import annotations

import math
from typing import Any

from deniable.core.mechanism import Mechanism
from deniable.core.privacy import Guarantee

_STATEMENT = (
    "The plain columns next to the reports are not protected, neither in the table nor in the coefficients. "
    "Linking columns to reports shows who sent which report, so shuffling the reports then adds no protection. "
    "The randomised answers keep this protection: {epsilon}. "
    "A fitted model predicts answers from plain columns, also for people who did not take part."
)
_DEALT = (
    "Linking a report to a person also links the dealer's share: anyone who works with the dealer then learns "
    "the answer."
)


def privacy_statement(mechanism: Mechanism[Any], guarantee: Guarantee) -> str:
    """Return the privacy statement of a model that is fitted to a mechanism's reports.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> privacy_statement(grr, grr.privacy())[:66]
    'The plain columns next to the reports are not protected, neither i'
    """
    said = _STATEMENT.format(
        epsilon=guarantee.budget_text
        if math.isfinite(guarantee.epsilon)
        else "no epsilon, because a report can prove an answer"
    )
    return f"{said} {_DEALT}" if mechanism.dealt else said
