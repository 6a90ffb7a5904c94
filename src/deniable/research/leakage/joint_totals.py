"""Total leakage under a joint distribution that is given as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidInputError, quoted
from deniable.leakage.prior.correlation import check_releases, cpl
from deniable.leakage.prior.distributions import (
    Floats,
    _with_first,
    checked_joint,
    conditional_from_joint,
    marginals,
    merged_channel,
)
from deniable.leakage.prior.empirical_prior import missing_note
from deniable.leakage.totals.total import ADDITIVE_LABEL, totals
from deniable.oracles.oracle import FrequencyOracle, is_oracle


@dataclass(frozen=True, eq=False)
class TotalLeakage:
    """Leakage about every attribute if all attributes are released, as `total_leakage` returns it.

    All figures are in nats. All figures except `prior_free_bound` and `direct` refer to the stated joint distribution.

    Parameters
    ----------
    exact : float64[d]
        Exact total leakage about each attribute, by definition (5) in *The Hidden Cost of Correlation*. It is a
        guarantee under the stated joint distribution.
    direct : float64[d]
        Epsilon of each attribute's own release.
    joint_cpl : float64[d]
        Leakage about each attribute by the release of all other attributes together.
    pairwise : float64[d, d]
        Entry [i, j] is the leakage about attribute i by the release of j alone. The diagonal is zero.
    """

    exact: Floats
    direct: Floats
    joint_cpl: Floats
    pairwise: Floats

    @property
    def prior_free_bound(self) -> float:
        """Sum of all epsilons, which bounds every total for any joint distribution."""
        return float(self.direct.sum())

    @property
    def additive_figure_not_a_bound(self) -> Floats:
        """Direct leakage plus the sum of pairwise leakages, float64[d]; it can be less than `exact`."""
        figure: Floats = self.direct + self.pairwise.sum(axis=1)
        return figure

    def text(self, names: Sequence[str] | None = None) -> str:
        """Return a line for each attribute, with `names` instead of numbers. The additive figure is labelled."""
        shown = [f"attribute {i}" for i in range(len(self.exact))] if names is None else list(names)
        width = max(map(len, shown))
        lines = [
            f"{name:<{width}}  total {exact:.4f} (exact)  direct {direct:.4f}  others {others:.4f}  "
            f"{ADDITIVE_LABEL} {additive:.4f}"
            for name, exact, direct, others, additive in zip(
                shown, self.exact, self.direct, self.joint_cpl, self.additive_figure_not_a_bound, strict=True
            )
        ]
        return "\n".join([*lines, f"for any joint distribution at most {self.prior_free_bound:.4f} (upper bound)"])

    def __str__(self) -> str:
        return self.text()


def total_leakage(joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike]) -> TotalLeakage:
    """Return the exact total leakage about every attribute, and the sum of direct and pairwise leakages.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary: the joint distribution of the attributes.
    mechanisms : sequence of d mechanisms or channels
        Mechanisms (objects with ``channel()``) or channels (matrices of shape (k_j, outputs) whose rows sum to one).
        Releases are independent given the record.

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category has probability zero. Drop such categories first (`drop_unseen`).
    InvalidParameterError
        If the budgets sum to more than MAX_TOTAL_EPSILON.
    TooLargeError
        If the state space of the outputs exceeds MAX_TOTAL_STATES. The message names its size and the alternatives.

    Examples
    --------
    Two fair bits and their exclusive or: every pair is independent, yet all three together are not.

    >>> import numpy as np
    >>> from deniable import GRR
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> leakage = total_leakage(xor, [GRR(k=2, epsilon=1.0)] * 3)
    >>> leakage.exact.round(4), leakage.additive_figure_not_a_bound.round(4)
    (array([1.4338, 1.4338, 1.4338]), array([1., 1., 1.]))
    """
    table = checked_joint(joint)
    check_no_empty_category(table)
    channels = checked_channels(table.shape, mechanisms)
    exact, together, direct = totals(table, channels)
    pairwise = np.zeros((table.ndim, table.ndim))
    for i, j, pair in pair_tables(table):
        pairwise[i, j] = cpl(channels[j], conditional_from_joint(pair))
        pairwise[j, i] = cpl(channels[i], conditional_from_joint(pair.T))
    return TotalLeakage(exact, direct, together, pairwise)


def exact_totals(joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike]) -> Floats:
    """Return the exact total leakage about every attribute, float64[d], as in the field `exact` of `total_leakage`.

    Parameters and errors are those of `total_leakage`.

    Examples
    --------
    >>> from deniable import GRR
    >>> exact_totals([[0.4, 0.1], [0.1, 0.4]], [GRR(k=2, epsilon=1.0)] * 2).round(4)
    array([1.5694, 1.5694])
    """
    table = checked_joint(joint)
    check_no_empty_category(table)
    return totals(table, checked_channels(table.shape, mechanisms))[0]


def drop_unseen(joint: ArrayLike, channels: Sequence[ArrayLike]) -> tuple[Floats, list[Floats], tuple[str, ...]]:
    """Return a joint table and channels without the categories of probability zero.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Joint distribution.
    channels : sequence of float[k_j, outputs]
        Channels, for instance ``mechanism.channel()``.

    Returns
    -------
    joint, channels, notes
        Smaller tables, and notes on what was dropped. A constant attribute keeps an axis of length one.

    Examples
    --------
    >>> import numpy as np
    >>> joint, channels, notes = drop_unseen([[0.5, 0.0, 0.1], [0.2, 0.0, 0.2]], [np.eye(2), np.eye(3)])
    >>> joint.shape, channels[1].shape, notes
    ((2, 2), (2, 3), ('attribute 1: category 1 does not occur in the data: left out',))
    """
    table = checked_joint(joint)
    if len(channels) != table.ndim:
        raise InvalidInputError(
            f"channels must have one entry for each of the {table.ndim} attributes, got {len(channels)}"
        )
    notes, smaller = [], []
    for axis, size in enumerate(table.shape):
        mass = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        kept = np.flatnonzero(mass)
        channel = np.asarray(channels[axis], dtype=np.float64)
        if channel.ndim != 2 or len(channel) != size:
            raise InvalidInputError(
                f"channel {axis} must have {size} rows (one for each input), got shape={channel.shape}"
            )
        if len(kept) < size:
            notes.append(missing_note(f"attribute {axis}", kept, size))
        table = np.take(table, kept, axis=axis)
        smaller.append(channel[kept])
    return table, smaller, tuple(notes)


def checked_channels(sizes: Sequence[int], mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike]) -> list[Floats]:
    """Return one merged channel per attribute, or raise InvalidInputError naming the channel that does not fit."""
    check_releases(mechanisms, len(sizes))
    known: dict[int, Floats] = {}
    channels = []
    for j, (size, mechanism) in enumerate(zip(sizes, mechanisms, strict=True)):
        if id(mechanism) not in known:
            matrix: ArrayLike = mechanism.channel() if is_oracle(mechanism) else mechanism
            if np.ndim(matrix) != 2:
                raise InvalidInputError(
                    f"mechanisms[{j}] must be a mechanism or a channel of shape (inputs, outputs), got "
                    f"{quoted(mechanism)}: if you have only an epsilon, use concatenated_bound"
                )
            known[id(mechanism)] = merged_channel(matrix)
        channel = known[id(mechanism)]
        if len(channel) != size:
            raise InvalidInputError(
                f"mechanisms[{j}] must have {size} possible answers, got {len(channel)}: axis {j} of joint has {size} "
                "categories"
            )
        channels.append(channel)
    return channels


def check_no_empty_category(table: Floats) -> None:
    """Raise InvalidInputError if a category has probability zero, because nothing is conditional on it."""
    for target, mass in enumerate(marginals(table)):
        if (mass == 0).any():
            empty = int(np.flatnonzero(mass == 0)[0])
            raise InvalidInputError(
                f"category {empty} of attribute {target} has the probability 0: leave this category out of the joint "
                "table"
            )


def pair_tables(table: Floats) -> Iterator[tuple[int, int, Floats]]:
    """Yield (i, j, two-way table of axes i and j) for i < j; large tables are summed a few times only."""
    rest = table
    for i in range(table.ndim - 1):
        for offset, part in _with_first(rest, list(range(1, rest.ndim))):
            yield i, i + offset, part
        rest = rest.sum(axis=0)
