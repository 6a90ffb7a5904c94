"""Functions that build the designs: each takes exact parameters and returns a frozen mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from deniable.designs.design import Design
from deniable.designs.kinds import Number, checked_number
from deniable.errors import InvalidParameterError, quoted


def warner(p: Number) -> Design:
    """Return Warner's design (1965): the device chooses whether to answer "I am a carrier" or "I am not a carrier".

    Parameters
    ----------
    p : Fraction, int or str
        Probability of the statement "I am a carrier", in [0, 1] and not 1/2.

    Raises
    ------
    InvalidParameterError
        If p is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.warner("7/10").odds]
    ['7/3', '7/3']
    """
    return Design("warner", (p,))


@final
class _Forced:
    """Return forced answers: yes with probability `yes`, no with probability `no`, and otherwise the truth.

    Call it as ``forced(yes, no)``. ``forced.at(odds=(L0, L1))`` is the design of least variance whose odds are at most
    L0 and L1.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.forced(yes="1/6", no="1/12")
    Design('forced', yes=1/6, no=1/12)
    """

    def __call__(self, yes: Number, no: Number, *, one_sided: bool = False) -> Design:
        """Return the design with these probabilities.

        Parameters
        ----------
        yes, no : Fraction, int or str
            Probabilities that the device says yes, and no; together less than 1.
        one_sided : bool
            True to accept that a report can prove that somebody is not a carrier.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds or a float.
        """
        return Design("forced", (yes, no), one_sided)

    def at(self, *, odds: tuple[Number, Number]) -> Design:
        """Return the design that has the least variance at every prevalence, with at most these odds.

        Parameters
        ----------
        odds : (Fraction, int or str) twice
            (L0, L1): most that a report may say for not carrying, and for carrying; both > 1.

        Raises
        ------
        InvalidParameterError
            If they are not two numbers above 1.

        Notes
        -----
        Given a non-carrier, the likelihood ratio of a report lies in [1/L0, L1] and has mean 1. The information about
        the prevalence is convex in the ratio, so it is largest if the ratio is at either end: two answers with
        P(yes | not a carrier) = (L0 - 1)/(L0 L1 - 1).

        Examples
        --------
        >>> from deniable import designs
        >>> designs.forced.at(odds=(10, "11/2"))
        Design('forced', yes=1/6, no=1/12)
        """
        if not isinstance(odds, (tuple, list)) or len(odds) != 2:
            raise InvalidParameterError(f"odds must be two exact numbers, got odds={quoted(odds)}")
        absent, present = (checked_number(f"odds[{i}]", one) for i, one in enumerate(odds))
        if not min(absent, present) > 1:
            raise InvalidParameterError(
                f"odds must be > 1, got odds={absent}, {present}; with odds of 1, the reports would say nothing about "
                "the answers"
            )
        yes = (absent - 1) / (absent * present - 1)
        return Design("forced", (yes, 1 - present * yes))


forced = _Forced()


def unrelated(p: Number, alpha: Number, *, one_sided: bool = False) -> Design:
    """Return the design of an unrelated question (Greenberg et al. 1969) whose share of yes is known.

    Parameters
    ----------
    p : Fraction, int or str
        Probability that the device chooses the sensitive question, > 0.
    alpha : Fraction, int or str
        Share of people who say yes to the unrelated question.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    A coin, and "were you born in January?":

    >>> from deniable import designs
    >>> [str(most) for most in designs.unrelated("1/2", "1/12").odds]
    ['23/11', '13']
    """
    return Design("unrelated", (p, alpha), one_sided)


def kuk(p1: Number, p2: Number, draws: int = 1, *, one_sided: bool = False) -> Design:
    """Return Kuk's design (1990): carriers and others draw from different decks, and report the number of red cards.

    Parameters
    ----------
    p1, p2 : Fraction, int or str
        Share of red cards in the deck of carriers and of all others; they must differ.
    draws : int
        Number of cards drawn, with replacement.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.kuk("4/5", "1/5").odds]
    ['4', '4']
    """
    return Design("kuk", (p1, p2, draws), one_sided)


def crosswise(p: Number) -> Design:
    """Return the crosswise model (Yu, Tian, Tang 2008), which asks whether exactly one of two statements is true.

    Report 1 is "different": exactly one statement is true. Report 0 is "same": both statements are true, or neither.

    Parameters
    ----------
    p : Fraction, int or str
        Prevalence of the innocuous statement, not 1/2.

    Raises
    ------
    InvalidParameterError
        If p is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.crosswise("2/12")
    Design('crosswise', p=1/6)
    """
    return Design("crosswise", (p,))


def triangular(p: Number, *, one_sided: bool = False) -> Design:
    """Return the triangular model (Yu, Tian, Tang 2008), which asks whether at least one statement is true.

    "None" proves that the person is not a carrier.

    Parameters
    ----------
    p : Fraction, int or str
        Prevalence of the innocuous statement, < 1.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If p is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.triangular("1/4").odds]
    ['inf', '4']
    """
    return Design("triangular", (p,), one_sided)


def mangat(p: Number, *, one_sided: bool = False) -> Design:
    """Return Mangat's design (1994): carriers say yes, and all others use Warner's device.

    Parameters
    ----------
    p : Fraction, int or str
        Probability of the statement "I am a carrier", > 0.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If p is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.mangat("7/10").rows == designs.garbling("3/10").rows
    True
    """
    return Design("mangat", (p,), one_sided)


def garbling(q: Number, *, one_sided: bool = False) -> Design:
    """Return Devore's design (1977): people say yes with probability q, and otherwise tell the truth.

    Parameters
    ----------
    q : Fraction, int or str
        Probability that the device says yes, < 1.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If q is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.garbling("1/4").sentences[0]
    'A report of "no" proves that the person is not a carrier: no epsilon holds.'
    """
    return Design("garbling", (q,), one_sided)


def two_stage(t: Number, p: Number) -> Design:
    """Return the design of Mangat and Singh (1990): the truth with probability t, and otherwise Warner's device.

    Parameters
    ----------
    t, p : Fraction, int or str
        Probability of a direct answer, and of the statement "I am a carrier".

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.two_stage("2/5", "7/10").rows == designs.warner("41/50").rows
    True
    """
    return Design("two_stage", (t, p))


def two_stage_unrelated(t: Number, p: Number, alpha: Number, *, one_sided: bool = False) -> Design:
    """Return the unrelated question in two stages: the truth with probability t, and otherwise `unrelated`.

    Parameters
    ----------
    t, p, alpha : Fraction, int or str
        Probability of a direct answer. Probability of the sensitive question in the second stage. Share of yes to the
        unrelated question.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.two_stage_unrelated("1/2", "3/5", "1/4").rows == designs.unrelated("4/5", "1/4").rows
    True
    """
    return Design("two_stage_unrelated", (t, p, alpha), one_sided)


def improved_unrelated(p: Number, alpha: Number, *, one_sided: bool = False) -> Design:
    """Return the improved unrelated question: carriers say yes, and all others use the device of `unrelated`.

    Parameters
    ----------
    p, alpha : Fraction, int or str
        Probability of the sensitive question, and the share of yes to the unrelated one.
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.improved_unrelated("3/5", "1/2").rows == designs.garbling("1/5").rows
    True
    """
    return Design("improved_unrelated", (p, alpha), one_sided)


def singh_joarder(p: Number, *, one_sided: bool = False) -> Design:
    """Return the design of Singh and Joarder (1997): carriers who would have to say no throw the device once more.

    Parameters
    ----------
    p : Fraction, int or str
        Probability of the statement "I am a carrier".
    one_sided : bool
        True to accept that a report can prove that somebody is not a carrier.

    Raises
    ------
    InvalidParameterError
        If p is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.singh_joarder("3/5").odds]
    ['15/4', '21/10']
    """
    return Design("singh_joarder", (p,), one_sided)


def two_trial(p: Number, trials: int = 2) -> Design:
    """Return Warner's design with several trials, which reports how often yes was said. The epsilons add up.

    Parameters
    ----------
    p : Fraction, int or str
        Probability of the statement "I am a carrier", not 1/2.
    trials : int
        Number of answers to the same question.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.two_trial("3/4").odds]
    ['9', '9']
    """
    return Design("two_trial", (p, trials))


def christofides(weights: Sequence[Number]) -> Design:
    """Return the design of Christofides (2003): a card from 1 to L is drawn; carriers report L + 1 minus its number.

    Report 0 stands for card 1.

    Parameters
    ----------
    weights : sequence of Fraction, int or str
        Probability of each card.

    Raises
    ------
    InvalidParameterError
        If the weights do not sum to 1, do not distinguish carriers from others, or a weight is a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.christofides(["1/10", "2/10", "3/10", "4/10"]).score([0, 3])
    array([ 2., -1.])
    """
    return Design("christofides", _listed("weights", weights))


def forced_k(probs: Sequence[Number]) -> Design:
    """Return forced answers for k categories: category y with probability probs[y], and otherwise the truth.

    Parameters
    ----------
    probs : sequence of Fraction, int or str
        Probability of each forced answer. Their sum must be less than 1.

    Raises
    ------
    InvalidParameterError
        If the probabilities sum to 1 or more, or a probability is a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.forced_k(["1/12", "1/12", "1/12"]).odds]
    ['10', '10', '10']
    """
    return Design("forced_k", _listed("probs", probs))


def modular(weights: Sequence[Number]) -> Design:
    """Return the design that reports (answer + spin) mod k, where the spin is s with probability weights[s].

    Parameters
    ----------
    weights : sequence of Fraction, int or str
        Probability of each spin.

    Raises
    ------
    InvalidParameterError
        If the weights do not sum to 1, do not distinguish the answers, or a weight is a float.

    Examples
    --------
    >>> from deniable import designs
    >>> [str(most) for most in designs.modular(["1/2", "1/4", "1/4"]).odds]
    ['2', '2', '2']
    """
    return Design("modular", _listed("weights", weights))


def _listed(name: str, values: Sequence[Number]) -> tuple[Number, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidParameterError(f"{name} must be a list of exact numbers, got {name}={quoted(values)}")
    return tuple(values)
