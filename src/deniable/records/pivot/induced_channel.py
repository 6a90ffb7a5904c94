"""Linear channel from frequencies to counts that a pivot mechanism induces, and its solution.

A report depends on its contributor through the pivot alone. The expected counts are therefore linear in the
*marginals*:

    E c_j/n = 1/d [GRR_j f_j + sum_s K_(s->j) GRR_s f_s].

Here K_(s->j) is the distribution of the code of target j, given the report of pivot s. The distribution of the whole
report is linear in the marginals, too. No number of reports can therefore show any dependence between attributes.

The solution is the g = f - 1/k of least norm that explains the counts. If the system determines a frequency, the
estimate of this frequency is unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.errors import TooLargeError
from deniable.oracles.grr import GRR
from deniable.records.layout import stretches

MAX_VALUES = 1 << 12
"""Largest number of values, over all attributes, for which the linear system is solved."""
DAMPED = 1e-6
"""Directions that the channel damps by more than this, relative to the best one, count as not identifiable."""


@dataclass(frozen=True, eq=False)
class InducedChannel:
    """Linear function from frequencies to expected shares of reports, and its solution.

    Rows and columns are the values of all attributes, one attribute after the other.

    Parameters
    ----------
    sizes : tuple of int
        Domain sizes.
    matrix : float64[N, N]
        Matrix of expected shares: E c/n = matrix @ f.
    solution : float64[N, N]
        Matrix of the estimate f^ = offset + solution @ (c/n).
    offset : float64[N]
        Constant part of the estimate; see `solution`.
    identifiable : bool[N]
        True if the shares determine the frequency, so that its estimate is unbiased.
    second : float64[N, N]
        Matrix of second moments: E [contribution of one report to f^]^2 = second @ f. It gives every variance.
    """

    sizes: tuple[int, ...]
    matrix: Floats
    solution: Floats
    offset: Floats
    identifiable: NDArray[np.bool_]
    second: Floats

    def estimate(self, counts: NDArray[np.int64], n: int, biased: str) -> RecordEstimate:
        """Return every attribute's frequencies, with the note `biased` for attributes that are not identifiable.

        The noise of one report depends on the frequencies of all attributes. For the frequencies of other values and
        attributes, their estimates are plugged in.
        """
        frequencies = self.offset + self.solution @ (counts / n)
        places = stretches(self.sizes)
        plugged = np.concatenate([_distribution(frequencies[place]) for place in places])
        estimates = {}
        for j, place in enumerate(places):
            absent, present = self._noise(place, plugged)
            known = bool(self.identifiable[place].all())
            estimates[j] = Estimate(frequencies[place], n, absent, present, processing=() if known else (biased,))
        return RecordEstimate(estimates)

    def _noise(self, place: slice, plugged: Floats) -> tuple[Floats, Floats]:
        own, shares = self.second[place, place], plugged[place]
        elsewhere = self.second[place] @ plugged - own @ shares
        k = len(shares)
        others = np.where(1 - shares > DAMPED, 1 - shares, 1.0)
        mean = (own.sum(axis=1) - np.diag(own)) / (k - 1)
        rest = np.where(1 - shares > DAMPED, (own @ shares - np.diag(own) * shares) / others, mean)
        return np.maximum(elsewhere + rest, 0.0), np.maximum(elsewhere + np.diag(own) - 1, 0.0)

    def errors(self, frequencies: Floats) -> tuple[Floats, Floats]:
        """Return one report's variance and the bias of every estimated frequency, float64[N] each."""
        mean = self.offset + self.solution @ (self.matrix @ frequencies)
        return self.second @ frequencies - mean**2, mean - frequencies


def _distribution(frequencies: Floats) -> Floats:
    clipped = np.clip(frequencies, 0.0, None)
    return clipped / clipped.sum() if clipped.sum() > 0 else np.full(len(clipped), 1 / len(clipped))


def check_value_count(sizes: Sequence[int]) -> None:
    """Raise TooLargeError if the attributes have more than MAX_VALUES values together."""
    if sum(sizes) > MAX_VALUES:
        raise TooLargeError(
            f"the attributes must have at most {MAX_VALUES} categories together, got {sum(sizes)}: merge categories, "
            "or use fewer attributes"
        )


def induced_matrix(oracles: Sequence[GRR], transfers: Sequence[Sequence[Floats]]) -> Floats:
    """Return the matrix of E c/n = matrix @ f, float64[N, N].

    The matrix transfers[pivot][target] holds the distributions of the target's code, given the pivot's report.
    """
    columns = [(_grr(oracle) @ np.concatenate(row, axis=1)).T for oracle, row in zip(oracles, transfers, strict=True)]
    return np.concatenate(columns, axis=1) / len(oracles)


def induced_channel(oracles: Sequence[GRR], transfers: Sequence[Sequence[Floats]]) -> InducedChannel:
    """Return the channel with its solution, or raise TooLargeError if attributes have more than MAX_VALUES values."""
    sizes = tuple(oracle.k for oracle in oracles)
    check_value_count(sizes)
    matrix = induced_matrix(oracles, transfers)
    centring = _block_diagonal([np.eye(k) - 1 / k for k in sizes])
    uniform = np.concatenate([np.full(k, 1 / k) for k in sizes])
    solution = _pseudo_inverse(matrix @ centring)
    offset = uniform - solution @ (matrix @ uniform)
    resolved = solution @ matrix @ centring
    identifiable = np.abs(resolved - centring).max(axis=1) < DAMPED
    second = np.concatenate([_second(solution, offset, row, sizes) for row in transfers], axis=1)
    grr = _block_diagonal([_grr(oracle) for oracle in oracles])
    return InducedChannel(sizes, matrix, solution, offset, identifiable, second @ grr.T / len(oracles))


def _second(solution: Floats, offset: Floats, row: Sequence[Floats], sizes: Sequence[int]) -> Floats:
    """Return E [contribution]^2 given a pivot and its report (targets are then independent), float64[N, k_pivot]."""
    law = np.concatenate(row, axis=1)
    mean = offset[:, None] + solution @ law.T
    variance = solution**2 @ law.T
    for place in stretches(sizes):
        variance -= (solution[:, place] @ law[:, place].T) ** 2
    return mean**2 + variance


def _pseudo_inverse(matrix: Floats) -> Floats:
    try:
        return np.linalg.pinv(matrix, rcond=DAMPED).astype(np.float64)
    except np.linalg.LinAlgError:
        # LAPACK's divide and conquer fails to converge on rare singular matrices that its older iteration solves.
        from scipy import linalg  # scipy is needed only where numpy gives up

        u, s, vt = linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
        kept = s > DAMPED * s.max()
        inverse: Floats = (vt[kept].T / s[kept]) @ u[:, kept].T
        return inverse


def _grr(oracle: GRR) -> Floats:
    p, q = map(float, oracle.support_probabilities)
    return np.full((oracle.k, oracle.k), q) + (p - q) * np.eye(oracle.k)


def _block_diagonal(blocks: Sequence[Floats]) -> Floats:
    total = sum(len(block) for block in blocks)
    result = np.zeros((total, total))
    for place, block in zip(stretches([len(block) for block in blocks]), blocks, strict=True):
        result[place, place] = block
    return result
