"""Guarantee: bounds of a mechanism against every adversary, as data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact, exp_bounds
from deniable.errors import PrivacyLimitError, quoted

Status = Literal["exact", "upper bound", "assumption"]
Scaling = Literal["once", "per report"]

_NOTHING: Mapping[str, Sequence[int]] = MappingProxyType({})

HIGH_EPSILON = 4.0
"""Above this epsilon, contributors are warned: odds of 1 to 1 can become 54.6 to 1."""


SEES_ALL = ("all reports, everybody else's data and all n-1 others' shares", "all reports and everybody else's data")
"""Views of a collector who sees all reports of a mechanism with a dealer, the weakest guarantee first."""


@dataclass(frozen=True)
class TrustModel:
    """One row of a guarantee: an adversary and what it can learn about one contributor.

    Parameters
    ----------
    adversary : str
        The adversary, for instance "collector".
    view : str
        Description of what the adversary sees.
    epsilon : float
        Bound on the log-likelihood ratio between any two answers, in nats.
    delta : float
        The delta of (epsilon, delta)-differential privacy.
    status : {"exact", "upper bound", "assumption"}
        "exact": the bound is attained. "upper bound": it is proved, but perhaps not attained. "assumption": it holds
        only if the condition in `note` holds.
    note : str
        The condition, or a remark.
    scaling : {"once", "per report"}
        "once": the bound is for everything that the adversary sees. "per report": the bound for r reports is r times
        `epsilon`.

    Examples
    --------
    >>> from deniable import GRR
    >>> one, repeated = GRR(k=4, epsilon=1.0).privacy().trust_models
    >>> one.view, one.scaling, one.bound
    ('one report', 'once', 'epsilon = 1')
    >>> repeated.view, repeated.scaling, repeated.bound
    ('r reports of the same answer', 'per report', 'epsilon = r x 1')
    """

    adversary: str
    view: str
    epsilon: float
    delta: float = 0.0
    status: Status = "exact"
    note: str = ""
    scaling: Scaling = "once"

    @property
    def bound(self) -> str:
        """The bound as all texts, files and pages write it, for instance "epsilon = r x 1, delta = 1e-06"."""
        repeated = "r x " if self.scaling == "per report" else ""
        delta = f", delta = {bound_text(self.delta)}" if self.delta else ""
        return f"epsilon = {repeated}{bound_text(self.epsilon)}{delta}"


class QuestionBound(NamedTuple):
    """Bound for a question that fills several columns of a record.

    Attributes
    ----------
    name : str
        Name of the question.
    epsilon : float
        Bound for two contributors who differ only in this question, in any of its columns.
    status : {"exact", "upper bound"}
        See `TrustModel`.
    """

    name: str
    epsilon: float
    status: Status

    @property
    def text(self) -> str:
        """Text of the bound in a few words."""
        return f"epsilon = {bound_text(self.epsilon)} for {self.name} ({self.status})"

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as plain JSON data."""
        return self._asdict()


@dataclass(frozen=True)
class Guarantee:
    """A privacy guarantee: epsilon, and what each adversary can learn. `mechanism.privacy()` returns it.

    Parameters
    ----------
    epsilon : float
        Bound in nats for one report and any two records, so for all attributes of the contributor together. It is the
        smallest bound for the mechanism as designed, and never exceeds the declared budget.
    per_attribute : tuple of float
        For each attribute, the bound for two contributors who differ only in that attribute.
    implemented_epsilon : float
        The same bound as `epsilon`, but computed exactly from the implemented integer thresholds and rounded up.
    trust_models : tuple of TrustModel
        One row per adversary.
    remarks : tuple of str
        Facts that a reader must know, for instance that the collector sees which attribute was sampled.

    Examples
    --------
    >>> from deniable import GRR
    >>> print(GRR(k=4, epsilon=1.0).privacy())
    epsilon = 1 for the whole contributor (implemented: 1.000000000000)
      collector who sees one report: epsilon = 1 (exact)
      collector who sees r reports of the same answer: epsilon = r x 1 (upper bound)
    """

    epsilon: float
    per_attribute: tuple[float, ...]
    implemented_epsilon: float
    trust_models: tuple[TrustModel, ...]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def question(self, name: str, columns: Sequence[int]) -> QuestionBound:
        """Return the bound for a question that fills several columns, such as a question with several answers.

        The bound is the sum of the bounds of the question's columns, but at most the bound for the whole contributor.
        The reason is that two answers differ in these columns only, and can be changed into each other one column at a
        time. If the bounds of all columns add up to the bound for the whole contributor, and this bound is attained,
        then the sum is attained for every set of columns.

        Parameters
        ----------
        name : str
            Name of the question.
        columns : sequence of int
            Indexes of the columns that the question fills.

        Examples
        --------
        >>> from deniable import SMP, SPL
        >>> SPL(sizes=(2, 2, 2, 3), epsilon=2.0).privacy().question("devices", (0, 1, 2)).text
        'epsilon = 1.5 for devices (exact)'
        >>> SMP(sizes=(2, 2, 2, 3), epsilon=2.0).privacy().question("devices", (0, 1, 2)).text
        'epsilon = 2 for devices (upper bound)'
        """
        if not all(map(math.isfinite, (self.epsilon, *self.per_attribute))):
            return QuestionBound(name, self.epsilon, "upper bound")
        # A float means its shortest decimal. Such decimals add up without an error of their own.
        parts = [exact(epsilon) for epsilon in self.per_attribute]
        total = float(sum(parts[j] for j in columns))
        attained = self.trust_models[0].status == "exact" and (
            len(columns) == len(parts) or math.isclose(float(sum(parts)), self.epsilon, rel_tol=1e-12)
        )
        return QuestionBound(name, min(total, self.epsilon), "exact" if attained else "upper bound")

    def questions(self, several: Mapping[str, Sequence[int]]) -> tuple[QuestionBound, ...]:
        """Return the bounds for questions that fill several columns, by the names in `Schema.several`."""
        return tuple(self.question(name, columns) for name, columns in several.items())

    def lines(
        self, attributes: Sequence[str] | None = None, several: Mapping[str, Sequence[int]] = _NOTHING
    ) -> list[str]:
        """Return the guarantee as lines: first the whole contributor, then single attributes, then the adversaries.

        Parameters
        ----------
        attributes : sequence of str, optional
            Names of the attributes, shown if their budgets differ. By default only the budgets are listed.
        several : mapping of str to sequence of int
            Columns of each question that fills several columns (`Schema.several`). The bounds of these questions are
            listed as well.

        Examples
        --------
        >>> from deniable import SPL
        >>> [SPL(sizes=(2, 4), epsilon=1.0).privacy().lines(names)[1] for names in (None, ("smoker", "mood"))]
        ['  per attribute: 0.5, 0.5', '  per attribute: epsilon = 0.5 for each of the 2 attributes']
        """
        lines, each = [self.headline], list(map(bound_text, self.per_attribute))
        if len(each) > 1:
            if attributes is not None and len(set(self.per_attribute)) == 1:
                each = [f"epsilon = {each[0]} for each of the {len(each)} attributes"]
            elif attributes is not None:
                names = attributes if len(attributes) == len(each) else range(len(each))
                each = [f"{name} {value}" for name, value in zip(names, each, strict=True)]
            lines.append(f"  per attribute: {', '.join(each)}")
        if several:
            lines.append(f"  per question: {', '.join(one.text for one in self.questions(several))}")
        for row in self.trust_models:
            note = f"; {row.note}" if row.note else ""
            lines.append(f"  {row.adversary} who sees {row.view}: {row.bound} ({row.status}{note})")
        return lines + [f"  note: {remark}" for remark in self.remarks]

    @property
    def headline(self) -> str:
        """The whole contributor's epsilon in one line, rounded up."""
        return f"epsilon = {bound_text(self.epsilon)} for the whole contributor (implemented: {self.implemented_text})"

    @property
    def budget_text(self) -> str:
        """The whole contributor's epsilon in a few words, with "unless the dealer colludes" if needed."""
        trusted = any("dealer" in row.adversary and row.epsilon > self.epsilon for row in self.trust_models)
        for_whom = "unless the dealer colludes" if trusted else "for the whole contributor"
        return f"epsilon = {bound_text(self.epsilon)} {for_whom}"

    @property
    def of_all_reports(self) -> float:
        """Bound against a collector who sees all reports and knows everybody else's answers.

        Bounds of several collections add up. With a local mechanism the bound is `epsilon`, because reports of other
        people say nothing about the contributor. With a dealer it is the bound in the row of that collector, because
        `epsilon` may only hold with the dealer's help.
        """
        found = [row.epsilon for row in self.trust_models if row.view in SEES_ALL and not row.delta]
        return next(filter(math.isfinite, found), math.inf) if found else self.epsilon

    @property
    def implemented_text(self) -> str:
        """The implemented epsilon with twelve decimals, rounded up."""
        value = self.implemented_epsilon
        return str(Decimal(str(value)).quantize(Decimal("1e-12"), ROUND_CEILING)) if math.isfinite(value) else "inf"

    def plain_words(
        self, attributes: Sequence[str] = (), several: Mapping[str, Sequence[int]] = _NOTHING
    ) -> tuple[str, ...]:
        """Return the guarantee in words that a contributor understands, first for the whole contributor.

        Every factor is e^epsilon, rounded up.

        Parameters
        ----------
        attributes : sequence of str
            Names of the attributes of `per_attribute`, if there are several.
        several : mapping of str to sequence of int
            Columns of each question that fills several columns (`Schema.several`).

        Examples
        --------
        >>> from deniable import GRR
        >>> for sentence in GRR(k=4, epsilon=1.0).privacy().plain_words():  # doctest: +NORMALIZE_WHITESPACE
        ...     print(sentence)
        whatever you send, nobody's odds about you can change by more than a factor of 2.72
        if two of your possible answers seemed equally likely before, one can seem at most 2.72 times as likely as the
        other afterwards
        reports add up: the odds can change by a factor of up to 7.39 for anyone who sees two reports of the same answer
        """
        most = max(self.epsilon, self.implemented_epsilon)
        once = [row for row in self.trust_models if row.scaling == "once"]
        worse = [row for row in once if row.epsilon > most or math.isinf(row.epsilon)]
        if math.isinf(most) and not any(math.isfinite(row.epsilon) for row in once):
            words, worse = ["there is no limit on how much someone can learn about you"], []
        elif math.isinf(most):
            words = ["there is no limit on how much someone can learn about you: it depends on who works together"]
        elif worse:
            first = once[0]
            who = f"{first.adversary} who sees {first.view}"
            words = [
                f"whatever you send, the odds about you can change by a factor of at most {odds_text(most)} for {who}"
            ]
        else:
            factor = odds_text(most)
            words = [
                f"whatever you send, nobody's odds about you can change by more than a factor of {factor}",
                f"if two of your possible answers seemed equally likely before, one can seem at most {factor} times as "
                "likely as the other afterwards",
            ]
        for row in worse:
            limit = "without any limit" if math.isinf(row.epsilon) else f"by a factor of up to {odds_text(row.epsilon)}"
            words.append(f"but {row.adversary} who sees {row.view} can change the odds {limit}")
        bounded = "the odds can change by a factor of at most"
        if len(self.per_attribute) > 1:
            names = attributes if len(attributes) == len(self.per_attribute) else range(len(self.per_attribute))
            each = (f"{quoted(name)} {odds_text(value)}" for name, value in zip(names, self.per_attribute, strict=True))
            words.append(f"for one answer on its own, if the others are known, {bounded}: {', '.join(each)}")
        if several:
            each = (f"{quoted(one.name)} {odds_text(one.epsilon)}" for one in self.questions(several))
            words.append(
                f"for all options of one question, if the other answers are known, {bounded}: {', '.join(each)}"
            )
        for row in self.trust_models:
            if row.scaling == "per report" and math.isfinite(row.epsilon):
                two = re.sub(r"\br\b", "two", row.view)
                words.append(
                    f"reports add up: the odds can change by a factor of up to {odds_text(2 * row.epsilon)} for anyone "
                    f"who sees {two}"
                )
        return tuple(words)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return a warning for contributors if epsilon is above `HIGH_EPSILON`, because the bound is then weak."""
        if self.epsilon <= HIGH_EPSILON:
            return ()
        if math.isinf(self.epsilon):
            return ("the guarantee has no finite epsilon: read who sees what before you report",)
        return (
            f"epsilon = {bound_text(self.epsilon)} is above {HIGH_EPSILON:g}: odds of 1 to 1 about you can become "
            f"{odds_text(self.epsilon)} to 1, which is little protection",
        )

    def require(self, maximum: EpsilonLike, name: str = "max_epsilon") -> None:
        """Contributor: raise an error if the guarantee is weaker than you accept.

        Parameters
        ----------
        maximum : float, Fraction, Decimal or str
            Largest epsilon for the whole contributor that you accept. A float is read as the decimal that Python prints
            for it, so 0.1 is read as 1/10.
        name : str
            Name of the limit in error messages.

        Raises
        ------
        PrivacyLimitError
            If the whole contributor's epsilon is larger.
        InvalidParameterError
            If the maximum is not a number in [1e-6, 32].

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=4, epsilon=1.0).privacy().require("0.5")
        Traceback (most recent call last):
        ...
        deniable.errors.PrivacyLimitError: epsilon must be <= max_epsilon=0.5, but this guarantee has epsilon = 1. ...
        """
        limit = exact(checked_epsilon(maximum, name))
        if math.isinf(self.epsilon) or exact(self.epsilon) > limit:
            raise PrivacyLimitError(
                f"epsilon must be <= {name}={maximum}, but this guarantee has epsilon = "
                f"{bound_text(self.epsilon)}. Nothing was randomised: ask for a collection with a smaller "
                "epsilon",
                parameters=(name,),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON data; every row states its bound and how the bound scales with reports."""
        return {
            "epsilon": self.epsilon,
            "per_attribute": list(self.per_attribute),
            "implemented_epsilon": self.implemented_epsilon,
            "trust_models": [{**vars(row), "bound": row.bound} for row in self.trust_models],
            "remarks": list(self.remarks),
        }


def bound_text(value: float) -> str:
    """Return a bound with at most six digits, rounded up, so that the printed bound is valid.

    Examples
    --------
    >>> bound_text(1.0), bound_text(1.0000001), bound_text(1 / 3), bound_text(1e-6)
    ('1', '1.00001', '0.333334', '1e-06')
    """
    if not math.isfinite(value):
        return str(value)
    return f"{float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(str(value))):g}"


def odds(epsilon: float) -> Decimal:
    """Return e^epsilon in three digits, rounded up: the most that the odds between two answers can change by.

    Examples
    --------
    >>> odds(1.0), odds(0.0), odds(float("inf"))
    (Decimal('2.72'), Decimal('1'), Decimal('Infinity'))
    """
    if not epsilon or math.isinf(epsilon):
        return Decimal("Infinity") if epsilon else Decimal(1)
    # A float means its shortest decimal or its binary value, whichever is larger.
    upper = exp_bounds(max(exact(epsilon), Fraction(epsilon)))[1]
    return Context(prec=3, rounding=ROUND_CEILING).divide(Decimal(upper.numerator), Decimal(upper.denominator))


def odds_text(epsilon: float) -> str:
    """Return `odds` as a text.

    Examples
    --------
    >>> odds_text(0.1), odds_text(4.0), odds_text(32.0)
    ('1.11', '54.6', '79,000,000,000,000')
    """
    return f"{odds(epsilon):,f}"


def repeated(view: str, epsilon: float, note: str = "") -> TrustModel:
    """Return the guarantee's row for a collector who sees r reports, whose bounds add up."""
    return TrustModel("collector", view, epsilon, status="upper bound", note=note, scaling="per report")


def local_guarantee(
    epsilon: float,
    implemented_epsilon: float,
    per_attribute: tuple[float, ...] | None = None,
    remarks: tuple[str, ...] = (),
) -> Guarantee:
    """Return the guarantee of a plain local mechanism, which trusts nobody. Bounds of several reports add up."""
    return Guarantee(
        epsilon=epsilon,
        per_attribute=per_attribute if per_attribute is not None else (epsilon,),
        implemented_epsilon=implemented_epsilon,
        trust_models=(
            TrustModel("collector", "one report", epsilon),
            repeated("r reports of the same answer", epsilon),
        ),
        remarks=remarks,
    )
