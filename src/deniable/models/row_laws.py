"""Log likelihoods of one row, log P(report, outcome | columns), with derivatives in a few numbers per row.

Every model is a mixture over the cells that the reports hide, l = log sum_c L(c) g(c; phi). The numbers phi of a row
are linear predictors x'b, or parameters that all rows share. `deniable.models.problem` makes gradients and Hessians of
the model from the derivatives here. The derivatives come from Louis's identity (Louis 1982) with w(c) = L(c) g(c) /
sum. The score is sum_c w(c) d log g(c). The Hessian is sum_c w(c) (d2 log g(c) + d log g(c) d log g(c)') minus the
score's square.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from deniable.core.checks import settle
from deniable.models.row_kernels import multinomial_rows

Floats = NDArray[np.float64]

Family = Literal["logit", "linear", "poisson"]
"""Distributions of a plain outcome."""

_LOG_ROOT = 0.5 * np.log(2 * np.pi)


class Group(NamedTuple):
    """Numbers of a row that come from one design.

    Attributes
    ----------
    design : int or None
        Number of the problem's design in which they are linear; None for parameters that all rows share.
    size : int
        Number of these numbers.
    """

    design: int | None
    size: int


class Derivatives(NamedTuple):
    """Derivatives of a law for a block of rows.

    Attributes
    ----------
    values : float64[b]
        Log likelihood.
    score : float64[b, m]
        Derivatives of the log likelihood in the m numbers of a row.
    hessian : float64[b, m, m]
        Second derivatives; empty if they were not requested.
    """

    values: Floats
    score: Floats
    hessian: Floats


class RowLaw(ABC):
    """Likelihood of one row, as the module describes it.

    Attributes
    ----------
    cells : int
        Number of hidden cells, the columns of L.
    """

    cells: int
    is_likelihood: bool = True

    @property
    @abstractmethod
    def groups(self) -> tuple[Group, ...]:
        """Sources of the numbers of a row, in their order."""

    @abstractmethod
    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:
        """Return the law of rows phi[b, m] with L[b, cells]; outcome[b] is that of a plain outcome."""

    @abstractmethod
    def cell_probabilities(self, phi: Floats) -> Floats:
        """Return g, float64[b, cells], for laws without a plain outcome."""

    @property
    def width(self) -> int:
        """Numbers per row."""
        return sum(group.size for group in self.groups)

    @property
    def places(self) -> list[slice]:
        """Slices of the groups in a row."""
        stops = np.cumsum([group.size for group in self.groups]).tolist()
        return [slice(stop - group.size, stop) for group, stop in zip(self.groups, stops, strict=True)]

    @abstractmethod
    def shared(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the shared numbers that parameters stand for, their Jacobian, and the second derivatives' diagonal.

        The diagonal is float64[numbers, parameters].
        """


class PlainLaw(RowLaw):
    """A law whose shared numbers are its parameters."""

    def shared(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        size = len(parameters)
        return parameters, np.eye(size), np.zeros((size, size))


def softmax(eta: Floats) -> Floats:
    """Return the probabilities of 0 and eta, float64[..., k], the first category being the reference."""
    full = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    np.exp(full, out=full)
    full /= full.sum(axis=-1, keepdims=True)
    return full


_NONE = np.empty((0, 0, 0))


@final
@dataclass(frozen=True)
class MultinomialLaw(PlainLaw):
    """A randomised outcome of k categories, multinomial logit: k - 1 linear predictors."""

    cells: int

    @property
    def groups(self) -> tuple[Group, ...]:
        return (Group(0, self.cells - 1),)

    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:  # noqa: ARG002
        values, score = np.empty(len(phi)), np.empty(phi.shape)
        hessian = np.empty((len(phi) if second else 0, self.cells - 1, self.cells - 1))
        multinomial_rows(phi, likelihood, values, score, hessian)
        return Derivatives(values, score, hessian)

    def cell_probabilities(self, phi: Floats) -> Floats:
        return softmax(phi)


@final
@dataclass(frozen=True)
class OrderedLaw(RowLaw):
    """Cumulative logit of a randomised outcome with k ordered categories, P(y <= j) = F(cut_j - eta).

    The shared numbers are the cuts. The parameters are the first cut and the logarithms of the steps.
    """

    cells: int

    @property
    def groups(self) -> tuple[Group, ...]:
        return Group(0, 1), Group(None, self.cells - 1)

    def shared(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        steps = np.concatenate(([1.0], np.exp(parameters[1:])))
        jacobian = np.tril(np.ones((len(steps), len(steps)))) * steps
        jacobian[:, 0] = 1.0
        second = jacobian.copy()
        second[:, 0] = 0.0
        cuts = parameters[0] + np.concatenate(([0.0], np.cumsum(steps[1:])))
        return cuts, jacobian, second

    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:  # noqa: ARG002
        # sum_c L_c (F_c - F_{c-1}) is linear in the cumulative probabilities.
        below = expit(phi[:, 1:] - phi[:, :1])
        change = likelihood[:, :-1] - likelihood[:, 1:]
        density = below * (1 - below)
        total = likelihood[:, -1] + (change * below).sum(axis=1)
        slopes = change * density / total[:, None]
        score = np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)
        hessian = _NONE
        if second:
            bends = slopes * (1 - 2 * below)
            hessian = -score[:, :, None] * score[:, None, :]
            hessian[:, 0, 0] += bends.sum(axis=1)
            hessian[:, 0, 1:] -= bends
            hessian[:, 1:, 0] -= bends
            places = np.arange(1, self.cells)
            hessian[:, places, places] += bends
        return Derivatives(np.log(total), score, hessian)

    def cell_probabilities(self, phi: Floats) -> Floats:
        below = expit(phi[:, 1:] - phi[:, :1])
        return np.diff(below, axis=1, prepend=0.0, append=1.0)


@final
@dataclass(frozen=True, eq=False)
class PredictorLaw(PlainLaw):
    """Model of a plain outcome with a randomised predictor.

    The effects of the predictor are shared, and its classes follow a multinomial logit.

    Parameters
    ----------
    family : {"logit", "linear", "poisson"}
        Distribution of the outcome given all columns and the cell.
    effects : float64[cells, q]
        Effects that each cell of the predictor has.
    """

    family: Family
    effects: Floats

    cells: int = 0  # `__post_init__` sets it

    def __post_init__(self) -> None:
        settle(self, cells=len(self.effects))

    @property
    def _shared(self) -> int:
        return int(self.effects.shape[1]) + (self.family == "linear")

    @property
    def groups(self) -> tuple[Group, ...]:
        return Group(0, 1), Group(None, self._shared), Group(1, self.cells - 1)

    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:
        q = self.effects.shape[1]
        classes = softmax(phi[:, 1 + self._shared :])
        eta = phi[:, :1] + phi[:, 1 : 1 + q] @ self.effects.T
        y = outcome[:, None]
        spread = np.exp(phi[:, 1 + q])[:, None] if self.family == "linear" else None
        logs, first, bend, rest = _FAMILIES[self.family](y, eta, spread)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(likelihood * classes)
        top = logs.max(axis=1)
        w = np.exp(logs - top[:, None])
        total = w.sum(axis=1)
        w /= total[:, None]
        e = np.concatenate([np.ones((self.cells, 1)), self.effects], axis=1)
        own = (w * first) @ e
        parts = [own, (w * rest[0]).sum(axis=1, keepdims=True)] if rest else [own]
        outer = np.concatenate(parts, axis=1)
        score = np.concatenate([outer, (w - classes)[:, 1:]], axis=1)
        hessian = _NONE
        if second:
            m = outer.shape[1]
            hessian = np.empty((len(phi), self.width, self.width))
            hessian[:, : q + 1, : q + 1] = np.einsum("nc,ci,cj->nij", w * (bend + first**2), e, e)
            per_cell = first[:, :, None] * e
            if rest:
                t, cross, own_bend = rest
                mixed = (w * (cross + first * t)) @ e
                hessian[:, : q + 1, q + 1] = hessian[:, q + 1, : q + 1] = mixed
                hessian[:, q + 1, q + 1] = (w * (own_bend + t**2)).sum(axis=1)
                per_cell = np.concatenate([per_cell, np.broadcast_to(t, first.shape)[:, :, None]], axis=2)
            hessian[:, :m, :m] -= outer[:, :, None] * outer[:, None, :]
            between = w[:, 1:, None] * (per_cell[:, 1:] - outer[:, None, :])
            hessian[:, m:, :m] = between
            hessian[:, :m, m:] = between.swapaxes(1, 2)
            hessian[:, m:, m:] = _class_hessian(w[:, 1:], classes[:, 1:])
        return Derivatives(top + np.log(total), score, hessian)

    def cell_probabilities(self, phi: Floats) -> Floats:
        return softmax(phi[:, 1 + self._shared :])


def _class_hessian(w: Floats, classes: Floats) -> Floats:
    """Return diag(w) - w w' - diag(rho) + rho rho' of every row."""
    found: Floats = classes[:, :, None] * classes[:, None, :] - w[:, :, None] * w[:, None, :]
    diagonal = np.arange(w.shape[1])
    found[:, diagonal, diagonal] += w - classes
    return found


def _logit(y: Floats, eta: Floats, spread: Any) -> Any:  # noqa: ARG001
    mean = expit(eta)
    return y * eta - np.logaddexp(0.0, eta), y - mean, -mean * (1 - mean), ()


def _poisson(y: Floats, eta: Floats, spread: Any) -> Any:  # noqa: ARG001
    mean = np.exp(np.minimum(eta, 500.0))
    return y * eta - mean - gammaln(y + 1), y - mean, -mean, ()


def _linear(y: Floats, eta: Floats, spread: Any) -> Any:
    r = (y - eta) / spread
    logs = -0.5 * r * r - np.log(spread) - _LOG_ROOT
    return logs, r / spread, -1 / spread**2 + 0 * r, (r * r - 1, -2 * r / spread, -2 * r * r)


_FAMILIES: dict[str, Any] = {"logit": _logit, "poisson": _poisson, "linear": _linear}
"""log f and its derivatives in eta. The linear model also has the derivatives in log sigma: first, mixed and second."""


@final
@dataclass(frozen=True, eq=False)
class BothLaw(PlainLaw):
    """Model of a randomised outcome with k categories and a randomised predictor; cells combine the two.

    Parameters
    ----------
    outcomes : int
        k.
    effects : float64[classes, q]
        Effects that each cell of the predictor has, on every outcome but the reference.
    """

    outcomes: int
    effects: Floats

    cells: int = 0  # `__post_init__` sets it

    def __post_init__(self) -> None:
        settle(self, cells=self.outcomes * len(self.effects))

    @property
    def groups(self) -> tuple[Group, ...]:
        m, q = self.outcomes - 1, self.effects.shape[1]
        return Group(0, m), Group(None, m * q), Group(1, len(self.effects) - 1)

    def _split(self, phi: Floats) -> tuple[Floats, Floats]:
        """Return P(outcome | class), float64[b, k, classes], and P(class), float64[b, classes]."""
        m, q = self.outcomes - 1, self.effects.shape[1]
        gamma = phi[:, m : m + m * q].reshape(-1, m, q)
        eta = phi[:, :m, None] + gamma @ self.effects.T
        return softmax(eta.swapaxes(1, 2)).swapaxes(1, 2), softmax(phi[:, m + m * q :])

    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:  # noqa: ARG002
        given, classes = self._split(phi)
        b, (k, cells), q = len(phi), given.shape[1:], self.effects.shape[1]
        w = likelihood.reshape(b, k, cells) * given * classes[:, None, :]
        total = w.sum(axis=(1, 2))
        w /= total[:, None, None]
        of_class = w.sum(axis=1)
        e = np.concatenate([np.ones((cells, 1)), self.effects], axis=1)
        rest = (w - of_class[:, None, :] * given)[:, 1:]  # [b, m, classes]
        outer = rest @ e  # [b, m, 1 + q]
        flat = np.concatenate([outer[:, :, 0], outer[:, :, 1:].reshape(b, -1)], axis=1)
        score = np.concatenate([flat, (of_class - classes)[:, 1:]], axis=1)
        hessian = _NONE
        if second:
            m = k - 1
            pi, own = given[:, 1:], w[:, 1:]
            middle = 2 * of_class[:, None, None, :] * pi[:, :, None, :] * pi[:, None, :, :]
            middle -= own[:, :, None, :] * pi[:, None, :, :] + pi[:, :, None, :] * own[:, None, :, :]
            diagonal = np.arange(m)
            middle[:, diagonal, diagonal, :] += rest
            inner = np.einsum("nabc,ci,cj->naibj", middle, e, e)
            order = self._inner_order(m, q)
            inner = inner.reshape(b, m * (1 + q), m * (1 + q))[:, order][:, :, order]
            hessian = np.empty((b, self.width, self.width))
            size = m * (1 + q)
            hessian[:, :size, :size] = inner - flat[:, :, None] * flat[:, None, :]
            between = np.einsum("nac,ci->naic", rest, e).reshape(b, size, cells)[:, order]
            between = (between - flat[:, :, None] * of_class[:, None, :])[:, :, 1:]
            hessian[:, :size, size:] = between
            hessian[:, size:, :size] = between.swapaxes(1, 2)
            hessian[:, size:, size:] = _class_hessian(of_class[:, 1:], classes[:, 1:])
        return Derivatives(np.log(total), score, hessian)

    @staticmethod
    def _inner_order(m: int, q: int) -> NDArray[np.int64]:
        """Return where the numbers of a row stand among (outcome, effect): predictors first, then the effects."""
        at = np.arange(m * (1 + q)).reshape(m, 1 + q)
        return np.concatenate([at[:, 0], at[:, 1:].ravel()])

    def cell_probabilities(self, phi: Floats) -> Floats:
        given, classes = self._split(phi)
        return (given * classes[:, None, :]).reshape(len(phi), -1)


@final
@dataclass(frozen=True)
class ComplianceLaw(PlainLaw):
    """Model of a randomised trait and of compliance as two independent logits, from one or more reports.

    The four cells are without and with the trait, each with instructions not followed and followed. L has four columns
    for each report. The margins of several reports are multiplied as if the reports were independent. The product is
    not a likelihood, but its score has mean zero, and the sandwich sums a person's reports first.

    Parameters
    ----------
    reports : int
        Number of reports of a person.
    """

    reports: int

    cells: int = 4

    def __post_init__(self) -> None:
        settle(self, is_likelihood=self.reports == 1)

    @property
    def groups(self) -> tuple[Group, ...]:
        return Group(0, 1), Group(1, 1)

    def evaluate(self, phi: Floats, likelihood: Floats, outcome: Floats, second: bool) -> Derivatives:  # noqa: ARG002
        chances, means = self.cell_probabilities(phi)[:, None, :], expit(phi)
        w = likelihood.reshape(len(phi), self.reports, 4) * chances
        total = w.sum(axis=2)
        w /= total[:, :, None]
        found = w @ np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        hessian = _NONE
        if second:
            hessian = -np.einsum("nri,nrj->nij", found, found)
            diagonal = np.arange(2)
            hessian[:, diagonal, diagonal] += found.sum(axis=1) - self.reports * means * (1 - means)
            both = w[:, :, 3].sum(axis=1)
            hessian[:, 0, 1] += both
            hessian[:, 1, 0] += both
        return Derivatives(np.log(total).sum(axis=1), found.sum(axis=1) - self.reports * means, hessian)

    def cell_probabilities(self, phi: Floats) -> Floats:
        trait, follows = expit(phi[:, 0]), expit(phi[:, 1])
        sides = [(1 - trait) * (1 - follows), (1 - trait) * follows, trait * (1 - follows), trait * follows]
        return np.stack(sides, axis=1)


NO_OUTCOME: Floats = np.empty(0)
"""Empty array that replaces a plain outcome if there is none."""
