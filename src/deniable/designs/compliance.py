"""Designs that tell people who follow the instructions from others, as likelihoods for models with covariates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.report_likelihood import ReportLikelihood
from deniable.designs.design import Design

Codes = NDArray[np.int64]


class Beginning(NamedTuple):
    """Start values of a search: the shares that a model without covariates gives.

    Attributes
    ----------
    carriers, followers : float
        Prevalence of the trait, and share of people who follow the instructions.
    """

    carriers: float
    followers: float


class ComplianceDesign(ABC):
    """A design that records a second number beside each report, to estimate how many follow the instructions.

    Attributes
    ----------
    reports, seconds : (str, str)
        Names of the codes 0 and 1. `reports` are names for the report, and `seconds` for the second number: the report
        to an anchor, or the random group.
    follower : str
        Word for people who follow the instructions.
    assumes : str
        Assumption that a reader of a model's coefficients must know, or "".
    """

    reports: ClassVar[tuple[str, str]]
    seconds: ClassVar[tuple[str, str]]
    follower: ClassVar[str]
    assumes: ClassVar[str] = ""

    @property
    @abstractmethod
    def device(self) -> Design:
        """Design of the sensitive question, whose guarantee holds for the report."""

    @abstractmethod
    def beginning(self, report: Codes, second: Codes) -> Beginning:
        """Return the shares of carriers and of followers for a model without covariates.

        Raises
        ------
        NoIntervalError
            If the second numbers do not show that anybody follows the instructions.
        """

    @abstractmethod
    def told(self, report: Codes, second: Codes) -> ReportLikelihood:
        """Return P(reports | trait, follows) of every person, float64[n, 4 for each report].

        The four columns are: no trait and does not follow, no trait and follows, trait and does not follow, trait and
        follows.
        """
