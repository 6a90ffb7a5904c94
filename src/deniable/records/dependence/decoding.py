"""Dependence decoder, which estimates the tables of all pairs at once and shrinks each towards independence.

The hierarchical decoder decodes the margin of every attribute alone. The difference between a table and the product of
its margins is its *interaction*. Cells of the interaction are small if a category is rare. The prior variance of a cell
is therefore tau^2 f_a f_b (1-f_a)(1-f_b), which is relative to the room that the margins leave. The strength of
interactions is not known. So tau has a prior on a grid, whose weights all pairs of the collection estimate together
(EM). A pair whose reports show little dependence is drawn towards independence, and a pair with much dependence keeps
it.

The model shrinks *answers* and takes intervals away. It is a named step, and raw tables come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.core.projection import nearest_distribution
from deniable.core.shared_domain import decode_group
from deniable.records.joint import JointTables
from deniable.records.pairs import Pair

Floats = NDArray[np.float64]

STEP = "dependence"

NEARLY_INDEPENDENT = 0.05
"""If the mean share of the interaction that is kept is below this, a table is essentially that of independent
attributes."""

_TAU2 = np.concatenate([[0.0], np.geomspace(1e-5, 2.0, 24)])
_PRIOR = np.concatenate([[0.1], np.full(24, 0.9 / 24)])
_PSEUDO_COUNTS = 2.0
_E_STEPS = 50
_SWEEPS = 30


@dataclass(frozen=True, eq=False)
class DecodedTable:
    """A decoded table of two attributes.

    Parameters
    ----------
    frequencies : float64[k_i, k_j]
        Frequencies >= 0 that sum to one and have the decoded margins. NaN without reports about this pair.
    dependence : float
        Mean share of the raw table's interaction (its distance from independence) that the decoder kept, in [0, 1].
    processing : tuple of str
        The step of post-processing. There are no intervals.
    """

    frequencies: Floats
    dependence: float
    processing: tuple[str, ...] = field(default=(STEP,))

    @property
    def independent(self) -> bool:
        """Return whether the table is nearly that of independent attributes (few reports or little dependence)."""
        return bool(self.dependence < NEARLY_INDEPENDENT)


class Decoded(NamedTuple):
    """Decoded margins and tables of a collection.

    Parameters
    ----------
    margins : tuple of float64[k_j]
        Decoded frequencies of every attribute; NaN without reports.
    tables : dict of (i, j) to DecodedTable
        Tables of all pairs i < j.
    """

    margins: tuple[Floats, ...]
    tables: dict[Pair, DecodedTable]


class _Interaction(NamedTuple):
    """Interaction of one pair, the room that its margins leave, and the noise of a cell."""

    raw: Floats
    room: Floats
    noise: float


def dependence_decode(tables: JointTables) -> Decoded:
    """Estimate the tables of all pairs of attributes together, with less noise than one by one (step "dependence").

    Parameters
    ----------
    tables : JointTables
        Raw tables from ``mechanism.tables(aggregate)``.

    Returns
    -------
    Decoded
        Margins and tables without intervals. Show the intervals of the consistent raw tables beside them.

    Notes
    -----
    The gain was measured on 72 settings that played no part in the design. The mean squared error of all tables was
    divided by the error of consistent tables projected onto the simplex. If every contributor reports a pair, the
    geometric mean of the ratios is .41 and the worst ratio 1.07. If a quarter of the contributors report a single
    attribute, the geometric mean is .44 and the worst ratio 2.9.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.pair_sample import PairSample
    >>> pairs = PairSample(sizes=(2, 2, 2), epsilon=1.0)
    >>> held = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    >>> tables = pairs.tables(pairs.simulate_aggregate(held, [2500] * 4, SimulationRandomness(1)))
    >>> decoded = dependence_decode(tables)
    >>> decoded.tables[0, 1].frequencies.round(2)
    array([[0.47, 0.01],
           [0.04, 0.48]])
    >>> decoded.tables[0, 2].independent
    False
    """
    margins = tuple(_decoded_margin(tables.margin(j), tables.margin_spread(j)) for j in range(len(tables.sizes)))
    interactions = {
        (i, j): _interaction(table.frequencies, margins[i], margins[j], table.interaction_spread())
        for (i, j), table in tables.items()
        if table.n
    }
    logs = {pair: _log_evidence(one) for pair, one in interactions.items()}
    decoded: dict[Pair, DecodedTable] = {}
    weights = _mixture(np.array(list(logs.values()))) if logs else np.empty((0, len(_TAU2)))
    shares = dict(zip(logs, weights, strict=True))
    for i, j in tables:
        if (i, j) in interactions:
            decoded[i, j] = _decoded_table(interactions[i, j], shares[i, j], margins[i], margins[j])
        else:
            decoded[i, j] = DecodedTable(np.full((len(margins[i]), len(margins[j])), np.nan), np.nan)
    return Decoded(margins, decoded)


def _decoded_margin(raw: Floats, variance: float) -> Floats:
    if np.isnan(raw).any():
        return raw
    centred = (raw - raw.mean())[None, :]
    found: Floats = decode_group(centred, np.full(centred.shape, variance), dominant=False)[0]
    return found


def _centred(table: Floats) -> Floats:
    found: Floats = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return found


def _interaction(raw: Floats, rows: Floats, columns: Floats, noise: float) -> _Interaction:
    product = np.outer(rows - 1 / len(rows), columns - 1 / len(columns))
    room = np.outer(rows * (1 - rows), columns * (1 - columns))
    return _Interaction(_centred(raw) - product, room, noise)


def _log_evidence(one: _Interaction) -> Floats:
    """Return the log evidence of every tau except for a constant, with cells one by one and the free ones counted."""
    rows, columns = one.raw.shape
    free = (rows - 1) * (columns - 1) / (rows * columns)
    variance = _TAU2[:, None, None] * one.room + one.noise
    found: Floats = -free / 2 * (np.log(variance) + one.raw**2 / variance).sum(axis=(1, 2))
    return found


def _mixture(logs: Floats) -> Floats:
    """Return float64[pairs, taus]: the posterior of tau for every pair, with weights that the pairs share."""
    weights = _PRIOR
    for step in range(_E_STEPS):
        with np.errstate(divide="ignore"):
            posterior: Floats = special.softmax(np.log(weights) + logs, axis=1)
        if step < _E_STEPS - 1:
            weights = (posterior.sum(axis=0) + _PSEUDO_COUNTS * _PRIOR) / (len(logs) + _PSEUDO_COUNTS)
    return posterior


def _decoded_table(one: _Interaction, posterior: Floats, rows: Floats, columns: Floats) -> DecodedTable:
    prior = _TAU2[:, None, None] * one.room
    kept = np.tensordot(posterior, prior / (prior + one.noise), axes=1)
    table = np.outer(rows, columns) + _centred(kept * one.raw)
    fitted = nearest_distribution(table.ravel()).reshape(table.shape)
    for _ in range(_SWEEPS):
        fitted = fitted * _ratio(rows, fitted.sum(axis=1))[:, None]
        fitted = fitted * _ratio(columns, fitted.sum(axis=0))[None, :]
    return DecodedTable(fitted, float(kept.mean()))


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
