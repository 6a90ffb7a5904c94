"""Everything the leakage theory says about one data set, in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from deniable.leakage.figure_status import Leakage
from deniable.leakage.prior.correlation import enumerated, release_epsilon
from deniable.leakage.prior.distributions import MAX_STATES, Floats
from deniable.leakage.prior.empirical_prior import Observed, Releases, observed
from deniable.leakage.prior.pairwise import PairwiseLeakage, pairwise_leakage
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.totals.total import ADDITIVE_LABEL, totals
from deniable.leakage.totals.tree_totals import tree_leakage

DEFAULT_STATES = 1 << 22
"""States up to which `record_leakage` contracts a joint table unasked: a second or two, 0.3 GiB."""

_OWN = "for an adversary whose prior is the data's own distribution"


@dataclass(frozen=True, eq=False)
class RecordLeakage:
    """Leakage about the d attributes of a data set that vary; what `record_leakage` returns.

    Parameters
    ----------
    pairwise : PairwiseLeakage
        Who leaks about whom; also the names, the direct leakages and the notes.
    totals : tuple of Leakage
        Total leakage about each attribute: exact where the joint table fits, else a proved upper bound.
    tree : tuple of Leakage
        Total leakage if attributes depend on each other along a fitted tree only; empty where `totals` is exact.
    prior_free : float
        Sum of all epsilons, constant attributes included: bounds everybody's total for any joint distribution.
    """

    pairwise: PairwiseLeakage
    totals: tuple[Leakage, ...]
    tree: tuple[Leakage, ...]
    prior_free: float

    @property
    def additive_figure_not_a_bound(self) -> Floats:
        """Direct leakage plus the sum of pairwise leakages, float64[d]; it can lie below the true total."""
        return self.pairwise.additive_figure_not_a_bound

    def text(self, pairs: int = 10) -> str:
        """Return totals, additive figures under their own name, the strongest pairs, and what was left out."""
        width = max(map(len, self.pairwise.names))
        lines = []
        for i, (name, total) in enumerate(zip(self.pairwise.names, self.totals, strict=True)):
            tree = f"  along a tree {self.tree[i].epsilon:.3f} (assumption)" if self.tree else ""
            figure = self.additive_figure_not_a_bound[i]
            lines.append(
                f"{name:<{width}}  direct {self.pairwise.direct[i]:.3f}  total {total.epsilon:.3f} ({total.status})"
                f"{tree}  {ADDITIVE_LABEL} {figure:.3f}"
            )
        lines += [
            f"figures hold {_OWN}",
            f"for any joint distribution at most {self.prior_free:.3f} (upper bound)",
            *map(str, self.pairwise.strongest(pairs)),
            *(f"note: {note}" for note in self.pairwise.notes),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def record_leakage(
    records: ArrayLike | Observed,
    sizes: Sequence[int] = (),
    releases: Releases = 1.0,
    names: Sequence[str] | None = None,
    *,
    max_states: int = DEFAULT_STATES,
) -> RecordLeakage:
    """Pairwise and total leakage under the empirical distribution of the records.

    Where the joint table of all attributes is too large, related attributes are put into groups. A total is then
    bounded by the exact one within the group plus the epsilons of all others (`partial_bound`).

    Parameters
    ----------
    records : int[n, d] or Observed
        Codes, column j in 0..sizes[j]-1; or what `observed` made of them.
    sizes : sequence of int
        Domain sizes; not needed with an `Observed`.
    releases : float or sequence of mechanisms, channels or epsilons
        How each attribute is released. A float is everybody's epsilon, of any mechanism.
    names : sequence of str, optional
        Attribute names.
    max_states : int
        Largest product of output counts that is contracted, up to 2^24.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> records = np.repeat([[0, 0], [0, 1], [1, 1]], [50, 40, 10], axis=0)
    >>> print(record_leakage(records, (2, 2), [GRR(k=2, epsilon=1.0)] * 2, ["Bald", "Male"]).text(pairs=1))
    Bald  direct 1.000  total 1.670 (exact)  additive figure (not a bound) 1.670
    Male  direct 1.000  total 1.295 (exact)  additive figure (not a bound) 1.295
    figures hold for an adversary whose prior is the data's own distribution
    for any joint distribution at most 2.000 (upper bound)
    releasing Male reveals up to 0.67 of a possible 1.00 about Bald
    """
    data = records if isinstance(records, Observed) else observed(records, sizes, names)
    pairs = pairwise_leakage(data, releases=releases)
    restricted = data.restricted(releases)
    channels = [enumerated(release) for release in restricted]
    everyone = releases if isinstance(releases, Sequence) else [releases] * len(data.domains)
    limit = min(max_states, MAX_STATES)
    groups = _groups(pairs.matrix, [0 if channel is None else max(channel.shape) for channel in channels], limit)
    d = len(data.sizes)
    whole = len(groups) == 1 and len(groups[0]) == d
    found: dict[int, Leakage] = {}
    for group in groups:
        part = Observed(data.codes[:, group], tuple(data.sizes[j] for j in group), (), (), (), (), ()).joint()
        exact = totals(part, [channel for j in group if (channel := channels[j]) is not None])[0]
        outside = math.fsum(float(pairs.direct[j]) for j in range(d) if j not in group)
        for j, total in zip(group, exact, strict=True):
            note = _OWN if whole else f"{_OWN}; exact among {len(group)} attributes, plus the epsilons of the others"
            found[j] = Leakage(float(total) + outside, "exact" if whole else "upper bound", note)
    anything = Leakage(float(pairs.direct.sum()), "upper bound", "for any joint distribution")
    tree = () if whole or d < 2 else tree_leakage(TreePrior.from_records(data), restricted).totals
    return RecordLeakage(
        pairs,
        tuple(found.get(j, anything) for j in range(d)),
        tree,
        math.fsum(map(release_epsilon, everyone)),
    )


def _groups(matrix: Floats, states: Sequence[int], limit: int) -> list[list[int]]:
    """Return groups of related attributes whose states multiply to at most `limit`; 0 states: in no group."""
    related = matrix + matrix.T
    left = [j for j, size in enumerate(states) if 0 < size <= limit]
    groups = []
    while left:
        seed = max(left, key=lambda j: float(related[j, left].sum()))
        group, product = [seed], states[seed]
        left.remove(seed)
        while fitting := [j for j in left if product * states[j] <= limit]:
            nearest = max(fitting, key=lambda j: float(related[j, group].sum()))
            group.append(nearest)
            product *= states[nearest]
            left.remove(nearest)
        groups.append(sorted(group))
    return groups
