"""Predicted probabilities and means, and their derivatives in the public coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from deniable.models.row_laws import Floats, OrderedLaw, softmax


class Predicted(NamedTuple):
    """Predictions of n rows.

    Attributes
    ----------
    values : float64[n, v]
        Probabilities of the v categories, or one mean, in each row.
    jacobian : float64[n, v, P]
        Derivatives of the values in the P coefficients.
    """

    values: Floats
    jacobian: Floats


def predicted(model: str, coefficients: Floats, design: Floats) -> Predicted:
    """Return the predictions of a model.

    Parameters
    ----------
    model : {"logit", "multinomial", "ordered", "linear", "poisson"}
        Name of the model.
    coefficients : float64[P]
        Coefficients, category by category. The ordered model has slopes, the first cut and the logarithms of the steps.
    design : float64[n, columns]
        All columns, in the order of the coefficients.
    """
    n, columns = design.shape
    if model == "ordered":
        return _ordered(coefficients, design)
    m = len(coefficients) // columns
    eta = design @ coefficients.reshape(m, columns).T
    if model == "linear":
        return Predicted(eta, design[:, None, :])
    if model == "poisson":
        mean = np.exp(eta)
        return Predicted(mean, mean[:, :, None] * design[:, None, :])
    pi = softmax(eta)
    # d pi_v / d eta_a = pi_v (1[v = a] - pi_a)
    bend = -pi[:, :, None] * pi[:, None, 1:]
    places = np.arange(m)
    bend[:, places + 1, places] += pi[:, 1:]
    jacobian = (bend[:, :, :, None] * design[:, None, None, :]).reshape(n, m + 1, m * columns)
    return Predicted(pi, jacobian)


def _ordered(coefficients: Floats, design: Floats) -> Predicted:
    p = design.shape[1]
    law = OrderedLaw(len(coefficients) - p + 1)
    cuts, shared, _ = law.shared(coefficients[p:])
    below = expit(cuts - (design @ coefficients[:p])[:, None])
    density = below * (1 - below)
    slopes = np.concatenate(
        [-density[:, :, None] * design[:, None, :], density[:, :, None] * shared[None, :, :]], axis=2
    )
    edge = np.zeros((len(design), 1, len(coefficients)))
    values = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return Predicted(values, np.diff(slopes, axis=1, prepend=edge, append=edge))


def interval_of(model: str, found: Predicted, covariance: Floats, quantile: float) -> tuple[Floats, Floats, Floats]:
    """Return standard errors and interval ends, float64[n, v], made on the logit scale; for counts on the log scale."""
    errors = np.sqrt(np.maximum(np.einsum("nvp,pq,nvq->nv", found.jacobian, covariance, found.jacobian), 0.0))
    values = found.values
    if model == "linear":
        return errors, values - quantile * errors, values + quantile * errors
    if model == "poisson":
        factor = np.exp(quantile * errors / values)
        return errors, values / factor, values * factor
    inside = np.clip(values, 1e-300, 1 - 1e-16)
    logits, spread = np.log(inside / (1 - inside)), quantile * errors / (inside * (1 - inside))
    return errors, expit(logits - spread), expit(logits + spread)
