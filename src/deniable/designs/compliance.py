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
    """Shares without covariates, where a search begins.

    Attributes
    ----------
    carriers, followers : float
        Prevalence of the trait, and share of people who follow the instructions.
    """

    carriers: float
    followers: float


class ComplianceDesign(ABC):
    """A design with a second number of each person, which shows how many people follow the instructions.

    Attributes
    ----------
    reports, seconds : (str, str)
        Names of the codes 0 and 1 of the report and of the second number.
    follower : str
        Description of people who follow the instructions.
    assumes : str
        Facts that a reader of the model's coefficients must know, or "".
    """

    reports: ClassVar[tuple[str, str]]
    seconds: ClassVar[tuple[str, str]]
    follower: ClassVar[str]
    assumes: ClassVar[str] = ""

    @property
    @abstractmethod
    def device(self) -> Design:
        """Design of the sensitive question, which has the guarantee."""

    @abstractmethod
    def beginning(self, report: Codes, second: Codes) -> Beginning:
        """Return the shares without covariates.

        Raises
        ------
        NoIntervalError
            If the second numbers do not show that anybody follows the instructions.
        """

    @abstractmethod
    def told(self, report: Codes, second: Codes) -> ReportLikelihood:
        """Return P(reports | trait, follows), float64[n, 4 for each report]; following changes fastest."""
