"""Worst-case bounds for missing answers, which are the only bounds that hold without an assumption.

People who do not answer may differ from the others in any way. If a share r of all people did not answer, and a share f
of the others hold a category, between f (1 - r) and f (1 - r) + r of all hold it. At the lower bound none of the silent
people hold it, and at the upper bound all of them do. For a mean, the silent people
all have the least score or all have the largest. Manski, *Partial identification of probability distributions* (2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.core.answer import Answer, Bounds, refusal_of, rescaled
from deniable.core.checks import Target, check_target, checked_comparisons, checked_probability
from deniable.core.questions import Questions
from deniable.errors import InvalidParameterError, NoIntervalError, quoted


@dataclass(frozen=True, eq=False)
class WorstCase:
    """Bounds of a frequency or mean among all people, for any answers of the people who did not respond.

    Parameters
    ----------
    lower, upper : Answer
        Frequency if none of the people who did not respond holds the category, and frequency if all of them do. For a
        mean: if all of them have the least score, and if all of them have the largest.
    """

    lower: Answer
    upper: Answer

    def interval(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: bool | int = False
    ) -> Bounds:
        """Return an interval (lower, upper) that contains all possible values with probability `confidence`.

        Raises
        ------
        NoIntervalError
            If `lower` or `upper` has no interval.
        """
        check_target(target)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        if refusal_of((self.lower, self.upper)):
            raise NoIntervalError(refusal_of((self.lower, self.upper)))
        tail = (1 - confidence) / (2 * checked_comparisons(simultaneous, 1))
        return self.lower.at_tail(tail, target)[0], self.upper.at_tail(tail, target)[1]


def worst_case(answer: Answer, missing: float) -> WorstCase:
    """Analyst: return the range of a frequency or mean among all who were asked, if a known share did not report.

    Parameters
    ----------
    answer : Answer
        The frequency, mean, or other weighted sum of frequencies, among all who reported.
    missing : float
        The share r in [0, 1] of people who did not report, among all who were asked. It is public, like the number of
        invitations.

    Raises
    ------
    InvalidParameterError
        If the share is not in [0, 1]. Also if the answer is not about all who reported, like a mean "of those who gave
        an answer that counts", or if it was computed from several answers.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr = GRR(k=2, epsilon=2.0)
    >>> estimate = grr.estimate(grr.simulate_aggregate([300, 700], SimulationRandomness(1)))
    >>> bounds = worst_case(estimate.total("0"), missing=0.2)
    >>> round(bounds.lower.value, 2), round(bounds.upper.value, 2)
    (0.26, 0.46)
    """
    share = checked_probability("missing", missing)
    if answer.extent is None or not answer.everyone:
        raise InvalidParameterError(
            "answer must be a frequency, mean or weighted sum about all who reported, got "
            f"answer={quoted(answer.question)}; use the worst case of single frequencies instead"
        )
    least, most = answer.extent
    return WorstCase(
        rescaled(answer, 1 - share, share * least, f"{answer.question}, if all of the missing count {least:.4g}"),
        rescaled(answer, 1 - share, share * most, f"{answer.question}, if all of the missing count {most:.4g}"),
    )


def worst_case_total(estimate: Questions, labels: str | Sequence[str], missing: str | Sequence[str]) -> WorstCase:
    """Analyst: return the range of a frequency among all people, if "no answer" is one of the reported categories.

    Parameters
    ----------
    estimate : Estimate or Stratified
        Estimate of the attribute.
    labels : str or sequence of str
        Categories whose joint frequency is wanted.
    missing : str or sequence of str
        Categories that mean "no answer".

    Raises
    ------
    InvalidParameterError
        If a category is both in `labels` and in `missing`.
    UnknownCategoryError
        If there is no such category.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, rng = GRR(k=3, epsilon=3.0), SimulationRandomness(1)
    >>> reports = grr.randomize([0] * 300 + [1] * 500 + [2] * 200, rng)
    >>> estimate = grr.estimate(grr.aggregate(reports)).named("smoker", ["yes", "no", "no answer"])
    >>> found = worst_case_total(estimate, "yes", "no answer")
    >>> found.lower.value == estimate.total("yes").value
    True
    """
    these, silent = ([one] if isinstance(one, str) else list(one) for one in (labels, missing))
    if set(these) & set(silent):
        raise InvalidParameterError(
            f"missing must not name a category that is also in labels, got missing={quoted(silent)}, "
            f"labels={quoted(these)}; leave this category out of missing or out of labels"
        )
    return WorstCase(estimate.total(these), estimate.total([*these, *silent]))
