"""LeakageSummary: the numbers and the sentences that every way of showing leakage has in common."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.leakage.distributions import Floats
from deniable.leakage.figures import Leakage
from deniable.leakage.total import ADDITIVE_LABEL
from deniable.privacy import Guarantee

FORMAT = "deniable leakage"
FORMAT_VERSION = 1

ADDITIVE_REMARK = (
    f"The {ADDITIVE_LABEL} is an attribute's own epsilon plus the leakages of all single others. Several attributes "
    "together can say more than that: it is printed for comparison with the literature, not to be relied on."
)


_FEW = 3


@dataclass(frozen=True)
class PairSummary:
    """One directed pair: what releasing `source` reveals about `target`, in nats.

    Parameters
    ----------
    target, source : str
        Names of the attributes.
    epsilon : float
        The leakage.
    possible : float
        The epsilon that the source is released with: no leakage is larger.
    plausible : (float, float) or None
        Where the leakage lies for 90% of the populations that these records could have come from; given where cells
        hold so few records that it matters.
    """

    target: str
    source: str
    epsilon: float
    possible: float
    plausible: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class LeakageSummary:
    """Everything that one page says about leakage; made by `summarize_leakage`.

    Parameters
    ----------
    source : str
        Where the prior comes from: a file's name.
    records : int
        Number of records behind the prior.
    release : str
        How attributes are released, in words.
    names : tuple of str
        The d attributes that vary.
    released : bool[d]
        Whether an attribute is released; others are only asked about.
    direct : float64[d]
        What an attribute's own release says about it, nats; 0 if it is not released.
    matrix : float64[d, d]
        matrix[i, j]: leakage about i by the release of j alone; zero on the diagonal.
    pairs : tuple of PairSummary
        The strongest pairs, strongest first.
    totals : tuple of Leakage
        Leakage about each attribute by the whole release.
    tree : tuple of Leakage
        The same if attributes depend on each other along a fitted tree only; empty where `totals` are exact.
    prior_free : float
        Bound on every total, whatever the prior.
    additive_figure_not_a_bound : float64[d] or None
        The paper's (6); None where attributes are not released one by one.
    worst_case : bool
        Whether figures are the largest over all mechanisms with these epsilons.
    target : str or None
        The only attribute that is asked about.
    notes : tuple of str
        What was left out or changed, by name.
    warnings : tuple of str
        Why figures may be larger than they would be in a population.
    guarantee : Guarantee or None
        Of the collection, with a leakage section.
    collection, title : str
        Id and title of the collection, or "".
    """

    source: str
    records: int
    release: str
    names: tuple[str, ...]
    released: NDArray[np.bool_]
    direct: Floats
    matrix: Floats
    pairs: tuple[PairSummary, ...]
    totals: tuple[Leakage, ...]
    tree: tuple[Leakage, ...]
    prior_free: float
    additive_figure_not_a_bound: Floats | None
    worst_case: bool
    target: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    guarantee: Guarantee | None = None
    collection: str = ""
    title: str = ""

    @property
    def about(self) -> list[int]:
        """Positions of the attributes that are asked about."""
        return [i for i, name in enumerate(self.names) if self.target in (None, name)]

    @property
    def columns(self) -> list[int]:
        """Positions of the attributes that are released."""
        return [int(j) for j in np.flatnonzero(self.released)]

    @property
    def promise(self) -> Guarantee | None:
        """The collection's guarantee without the section about this prior."""
        if self.guarantee is None:
            return None
        return replace(self.guarantee, trust_models=self.guarantee.trust_models[: -len(self.totals)])

    @property
    def scale(self) -> float:
        """Upper end of every scale: the largest epsilon that an attribute is released with."""
        return float(self.direct.max())

    @property
    def heading(self) -> str:
        """What the page is about, in a few words."""
        what = "what this release leaks" if self.target is None else f"what this release leaks about {self.target}"
        return f"{self.title}: {what}" if self.title else f"W{what[1:]}"

    @property
    def alone_text(self) -> str:
        """Heading of the figures about single releases."""
        return (
            "What a report says about one attribute, read alone" if self.collection else "One attribute released alone"
        )

    @property
    def together_text(self) -> str:
        """Heading of the totals."""
        return "One whole report" if self.collection else "Everything released together"

    @property
    def prior_text(self) -> str:
        """One sentence: what all figures are relative to."""
        return (
            "All figures but those for any prior are relative to one adversary: somebody who knows how often every "
            f"combination of answers occurs in {self.source} ({self.records:,} records), and nothing else about a "
            "person. Who knows more, or knows another population, may learn more or less."
        )

    @property
    def release_text(self) -> str:
        """One sentence: what is released, and how."""
        count = int(self.released.sum())
        worst = " Figures are the largest over all such mechanisms." if self.worst_case else ""
        return f"Released: {count} attribute{'s' if count > 1 else ''}, {self.release}.{worst}"

    @property
    def unit_text(self) -> str:
        """One sentence: the unit."""
        return (
            "Leakage is in nats, like epsilon: seeing the release changes the odds between two answers by a factor "
            "of at most e to that power."
        )

    @property
    def any_prior_text(self) -> str:
        """One sentence: the bound that needs no prior."""
        return f"For any prior whatever, no total is larger than {self.number(self.prior_free)}."

    @property
    def exact(self) -> bool:
        """Whether every total is attained under the prior."""
        return not self.tree

    @property
    def total_name(self) -> str:
        """Name of the totals' column."""
        return "total" if self.exact else "at most"

    @property
    def total_text(self) -> str:
        """One sentence: how sure the totals are."""
        if self.worst_case and self.exact:
            return "Totals are exact for the worst of these mechanisms, and an upper bound for all."
        if self.exact:
            return "Totals are exact: some report attains them."
        named = " Smaller ones may hold for a mechanism that is named." if self.worst_case else ""
        return (
            "Totals are upper bounds under the prior: there are too many combinations of answers and reports for exact "
            f"ones.{named}"
        )

    @property
    def tree_text(self) -> str:
        """One sentence: what the figure along a tree assumes; empty if there is none."""
        if not self.tree:
            return ""
        return (
            "The figure of a tree holds if attributes depend on each other along the likeliest tree only: an "
            "assumption that nobody checked."
        )

    @property
    def remarks(self) -> list[str]:
        """What the columns of the totals mean, one sentence each."""
        additive = "" if self.additive_figure_not_a_bound is None else ADDITIVE_REMARK
        return [text for text in (self.total_text, self.tree_text, additive) if text]

    @property
    def spoken(self) -> tuple[PairSummary, ...]:
        """The pairs worth a sentence: about one target, where all are listed anyway, few of them."""
        if self.target is None:
            return self.pairs
        return tuple(pair for rank, pair in enumerate(self.pairs) if rank < _FEW or pair.plausible)

    def sources(self, i: int) -> list[int]:
        """Return the positions of the released attributes other than i, those that reveal most about i first."""
        order = np.argsort(-self.matrix[i], kind="stable")
        return [int(j) for j in order if j != i and self.released[j]]

    @property
    def decimals(self) -> int:
        """Decimals of a leakage: two, more where epsilon is small."""
        # A hair more, so that 0.01 as implemented, just below, counts as 0.01.
        return max(2, 2 - math.floor(math.log10(1.000001 * self.scale))) if self.scale > 0 else 2

    def number(self, value: float) -> str:
        """Return a leakage as text."""
        return "unbounded" if math.isinf(value) else f"{value:.{self.decimals}f}"

    def pair_text(self, pair: PairSummary) -> str:
        """Return a pair in words."""
        text = (
            f"releasing {pair.source} reveals up to {self.number(pair.epsilon)} of a possible "
            f"{self.number(pair.possible)} about {pair.target}"
        )
        if pair.plausible is None:
            return text
        low, high = map(self.number, pair.plausible)
        return f"{text} (few records: {low} to {high} is plausible)"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON data in full precision."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "title": self.title,
            "collection": self.collection,
            "prior": {"source": self.source, "records": self.records, "text": self.prior_text},
            "release": {
                "text": self.release_text,
                "worst_case_over_mechanisms": self.worst_case,
                "epsilon": {self.names[j]: _finite(self.direct[j]) for j in self.columns},
            },
            "unit": self.unit_text,
            "target": self.target,
            "pairs": [
                {"about": self.names[i], "released": self.names[j], "leakage": _finite(self.matrix[i, j])}
                for i in self.about
                for j in self.columns
                if i != j
            ],
            "strongest": [
                {**vars(pair), "plausible": pair.plausible and list(pair.plausible), "text": self.pair_text(pair)}
                for pair in self.pairs
            ],
            "totals": [self._total_dict(i) for i in self.about],
            "any_prior": {"epsilon": _finite(self.prior_free), "status": "upper bound", "text": self.any_prior_text},
            "remarks": self.remarks,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
        }

    def _total_dict(self, i: int) -> dict[str, Any]:
        data: dict[str, Any] = {"about": self.names[i], "own_epsilon": _finite(self.direct[i])}
        data["total"] = _leakage_dict(self.totals[i])
        if self.tree:
            data["along_a_tree"] = _leakage_dict(self.tree[i])
        if self.additive_figure_not_a_bound is not None:
            data[ADDITIVE_LABEL] = _finite(self.additive_figure_not_a_bound[i])
        return data


def _leakage_dict(leakage: Leakage) -> dict[str, Any]:
    return {**vars(leakage), "epsilon": _finite(leakage.epsilon)}


def _finite(value: float) -> float | None:
    """Return a number that JSON can write."""
    return float(value) if math.isfinite(value) else None
