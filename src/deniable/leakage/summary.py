"""Leakage of a release about every attribute of a data set, with its uncertainty and the assumed adversary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_records, listed
from deniable.core.privacy import Guarantee, TrustModel
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.spec import to_spec
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.leakage.prior.correlation import (
    MAX_DOMAIN,
    Leakage,
    Release,
    any_mechanism_channel,
    check_releases,
    enumerated,
    release_epsilon,
)
from deniable.leakage.prior.distributions import MAX_STATES, Floats, joint_from_records
from deniable.leakage.prior.empirical_prior import Observed, Releases, left_out, observed, varying, warnings_of
from deniable.leakage.prior.pairwise import (
    Pair,
    PairwiseLeakage,
    leakage_text,
    own_deltas,
    pairwise_leakage,
    strongest_pairs,
    with_ranges,
)
from deniable.leakage.prior.rare_categories import rare_warnings
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.totals.collections import sampled_leakage
from deniable.leakage.totals.deltas import composed_delta, worst_deltas
from deniable.leakage.totals.total import ADDITIVE_DELTA, ADDITIVE_LABEL, totals
from deniable.leakage.totals.tree_totals import tree_leakage
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema

ADDITIVE_REMARK = (
    f"The {ADDITIVE_LABEL} is an attribute's own epsilon plus the leakages of all single others. Several attributes "
    "together can reveal more. The figure is printed only for comparison with the literature; do not rely on it."
)

DELTA_REMARK = (
    "A figure F with a delta means: for any two answers, a set of reports has at most e^F times its probability under "
    "the other answer, plus delta. The additive delta is an attribute's own delta plus those of all "
    "single others. Like the additive figure, it is not a bound."
)

_GROUP_STATES = 1 << 20

DEFAULT_STATES = 1 << 22
"""Most states for which `record_leakage` contracts a joint table by default, in a second or two and 0.3 GiB."""

_OWN = "for an adversary whose prior is the data's own distribution"


@dataclass(frozen=True, eq=False)
class Prior(Result):
    """Prior of an adversary who knows how often every combination of answers occurs in these records.

    Parameters
    ----------
    source : str
        Source of the records: the name of a file.
    records : int
        Number of records.
    """

    also: ClassVar = {"text": "text"}

    source: str
    records: int

    @property
    def text(self) -> str:
        """The prior in words."""
        return (
            "All figures except those for any prior are for one adversary. This adversary knows how often every "
            f"combination of answers occurs in {self.source} ({self.records:,} records), and nothing else about a "
            "person. Adversaries who know more, or know another population, may learn more or less."
        )


@dataclass(frozen=True, eq=False)
class Released(Result):
    """Description of a release.

    Parameters
    ----------
    how : str
        Description of the release in words.
    worst_case : bool
        True if the figures are the largest over all mechanisms with these epsilons.
    epsilon : mapping of names to floats
        Leakage of each released attribute's own release about that attribute, in nats.
    delta : float
        Delta of each release for events.
    """

    also: ClassVar = {"text": "text"}

    how: str = field(metadata=HIDDEN)
    worst_case: bool = field(metadata={"json": "worst_case_over_mechanisms"})
    epsilon: Mapping[str, float]
    delta: float = field(default=0.0, metadata=OPTIONAL)

    @property
    def text(self) -> str:
        """The release in words."""
        worst = " Figures are the largest over all such mechanisms." if self.worst_case else ""
        return f"Released: {len(self.epsilon)} attribute{'s' * (len(self.epsilon) > 1)}, {self.how}.{worst}"


@dataclass(frozen=True, eq=False)
class Total(Result):
    """Leakage of the whole release about one attribute, in nats.

    Parameters
    ----------
    about : str
        Name of the attribute.
    own_epsilon : float
        Leakage of the attribute's own release; 0 if the attribute is not released.
    total : Leakage
        Leakage of everything together.
    along_a_tree : Leakage or None
        Total leakage if attributes depend on each other along a fitted tree only; None if `total` is exact.
    additive_figure_not_a_bound : float or None
        Right side of the paper's (6); None if attributes are not released one by one.
    additive_delta_not_a_bound : float
        Delta of (6), the own delta plus those of the pairs; 0 if releases have no delta.
    """

    about: str
    own_epsilon: float
    total: Leakage
    along_a_tree: Leakage | None = field(default=None, metadata=OPTIONAL)
    additive_figure_not_a_bound: float | None = field(default=None, metadata={"json": ADDITIVE_LABEL, **OPTIONAL})
    additive_delta_not_a_bound: float = field(default=0.0, metadata={"json": ADDITIVE_DELTA, **OPTIONAL})


@dataclass(frozen=True, eq=False)
class LeakageSummary(Result):
    """Leakage of a release about a data set, as `summarize` and `summarize_collection` return it.

    Parameters
    ----------
    prior : Prior
        Prior to which all figures refer.
    release : Released
        Description of the release.
    names : tuple of str
        Names of the d attributes that vary.
    direct : float64[d]
        Leakage about each attribute by its own release, in nats. 0 if it is not released.
    matrix : float64[d, d]
        Entry [i, j] is the leakage about i by the release of j alone. The diagonal is zero.
    strongest : tuple of Pair
        Pairs with the largest leakage, the largest first.
    deltas : float64[d, d] or None
        Delta for each entry of `matrix`. None if releases have no delta.
    all_totals : tuple of Total
        Totals about all attributes. `totals` has those about the requested attributes.
    prior_free : float
        Bound on every total for any prior.
    prior_free_delta : float
        Delta of this bound.
    target : str or None
        Only attribute about which leakage was requested. None if all attributes were requested.
    notes : tuple of str
        Notes on what was left out or changed, with names.
    warnings : tuple of str
        Reasons why figures may be larger than in a population.
    guarantee : Guarantee or None
        Guarantee of the collection, with a section about this prior.
    collection, title : str
        Id and title of the collection, or "".
    """

    format = "deniable leakage"
    also: ClassVar = {
        "unit": "unit",
        "pairs": "pairs",
        "totals": "totals",
        "any_prior": "any_prior",
        "remarks": "remarks",
        "guarantee": "promised",
    }

    unit: ClassVar[str] = (
        "Leakage is in nats, like epsilon: seeing the release changes the odds between two answers by a factor of at "
        "most e to that power."
    )
    """The unit, in one sentence."""

    prior: Prior
    release: Released
    names: tuple[str, ...] = field(metadata=HIDDEN)
    direct: Floats = field(metadata=HIDDEN)
    matrix: Floats = field(metadata=HIDDEN)
    strongest: tuple[Pair, ...]
    all_totals: tuple[Total, ...] = field(metadata=HIDDEN)
    prior_free: float = field(metadata=HIDDEN)
    target: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    guarantee: Guarantee | None = field(default=None, metadata=HIDDEN)
    deltas: Floats | None = field(default=None, metadata=HIDDEN)
    prior_free_delta: float = field(default=0.0, metadata=HIDDEN)
    collection: str = ""
    title: str = ""

    @property
    def about(self) -> list[int]:
        """Positions of the requested attributes."""
        return [i for i, name in enumerate(self.names) if self.target in (None, name)]

    @property
    def columns(self) -> list[int]:
        """Positions of the attributes that are released."""
        return [j for j, name in enumerate(self.names) if name in self.release.epsilon]

    @property
    def totals(self) -> tuple[Total, ...]:
        """Totals about the requested attributes."""
        return tuple(self.all_totals[i] for i in self.about)

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """Leakages about requested attributes by the release of other attributes."""
        return [
            {"about": self.names[i], "released": self.names[j], "leakage": float(self.matrix[i, j])}
            | ({} if self.deltas is None else {"delta": float(self.deltas[i, j])})
            for i in self.about
            for j in self.columns
            if i != j
        ]

    @property
    def promise(self) -> Guarantee | None:
        """The collection's guarantee without the section about this prior."""
        if self.guarantee is None:
            return None
        return replace(self.guarantee, trust_models=self.guarantee.trust_models[: -len(self.names)])

    @property
    def promised(self) -> dict[str, Any] | None:
        """The guarantee as data, with the section."""
        return None if self.guarantee is None else self.guarantee.to_dict()

    @property
    def scale(self) -> float:
        """Upper end of all scales: the largest epsilon of any attribute's release."""
        return float(self.direct.max())

    @property
    def any_prior(self) -> dict[str, Any]:
        """The bound that needs no prior."""
        rarely = f", with delta {self.prior_free_delta:.3g}" if self.prior_free_delta else ""
        text = f"For any prior, no total is larger than {self.number(self.prior_free)}{rarely}."
        delta = {"delta": self.prior_free_delta} if self.prior_free_delta else {}
        return {"epsilon": self.prior_free, **delta, "status": "upper bound", "text": text}

    @property
    def exact(self) -> bool:
        """Return whether every total is attained under the prior."""
        return all(total.along_a_tree is None for total in self.all_totals)

    @property
    def remarks(self) -> list[str]:
        """Return sentences that say how sure the totals are, and what the other figures mean."""
        worst = self.release.worst_case
        if self.exact:
            by_whom = "Totals are exact for the worst of these mechanisms, and an upper bound for all."
            remarks = [by_whom if worst else "Totals are exact: some report attains them."]
        else:
            named = " For a named mechanism, smaller figures may hold." if worst else ""
            remarks = [
                "Totals are upper bounds under the prior: there are too many combinations of answers and reports for "
                f"exact ones.{named}",
                "The figure of a tree holds if attributes depend on each other only along the likeliest tree. This is "
                "an assumption that was not checked.",
            ]
        additive = any(total.additive_figure_not_a_bound is not None for total in self.all_totals)
        return [*remarks, *([ADDITIVE_REMARK] if additive else []), *([DELTA_REMARK] if self.release.delta else [])]

    def sources(self, i: int) -> list[int]:
        """Return the positions of the other released attributes, those that reveal most about attribute i first."""
        order = np.argsort(-self.matrix[i], kind="stable")
        return [int(j) for j in order if j != i and j in self.columns]

    def number(self, value: float) -> str:
        """Return a leakage as text."""
        return leakage_text(value, self.scale)


# ---------------------------------------------------------------- figures


@dataclass(frozen=True, eq=False)
class RecordLeakage:
    """Leakage about the d attributes of a data set that are not constant, as `record_leakage` returns it.

    Parameters
    ----------
    pairwise : PairwiseLeakage
        Leakage between pairs of attributes, with the names, the direct leakages and the notes.
    totals : tuple of Leakage
        Total leakage about each attribute. It is exact if the joint table is small enough, and otherwise a proved upper
        bound.
    tree : tuple of Leakage
        Total leakage if the attributes depend on each other only along a fitted tree. Empty if `totals` is exact.
    prior_free : float
        Sum of all epsilons, including the epsilons of constant attributes. The sum bounds every total for any joint
        distribution.
    prior_free_delta : float
        Delta of this bound.
    """

    pairwise: PairwiseLeakage
    totals: tuple[Leakage, ...]
    tree: tuple[Leakage, ...]
    prior_free: float
    prior_free_delta: float = 0.0

    @property
    def additive_figure_not_a_bound(self) -> Floats:
        """Direct leakage plus the sum of pairwise leakages, float64[d]; it can be less than the true total."""
        return self.pairwise.additive_figure_not_a_bound

    def text(self, pairs: int = 10) -> str:
        """Return as text the totals, the additive figures, the strongest pairs, and what was left out."""
        width = max(map(len, self.pairwise.names))
        lines = []
        for i, (name, total) in enumerate(zip(self.pairwise.names, self.totals, strict=True)):
            tree = f"  along a tree {self.tree[i].epsilon:.3f} (assumption)" if self.tree else ""
            figure = self.additive_figure_not_a_bound[i]
            rarely = f", delta {total.delta:.3g}" if total.delta else ""
            added = f", delta {self.pairwise.additive_delta_not_a_bound[i]:.3g}" if total.delta else ""
            lines.append(
                f"{name:<{width}}  direct {self.pairwise.direct[i]:.3f}  total {total.epsilon:.3f}{rarely} "
                f"({total.status}){tree}  {ADDITIVE_LABEL} {figure:.3f}{added}"
            )
        lines += [
            f"figures hold {_OWN}",
            f"for any joint distribution at most {self.prior_free:.3f}"
            + (f", delta {self.prior_free_delta:.3g}" if self.prior_free_delta else "")
            + " (upper bound)",
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
    delta: float = 0.0,
    max_states: int = DEFAULT_STATES,
) -> RecordLeakage:
    """Return the pairwise and total leakage under the empirical distribution of the records.

    If the joint table of all attributes is too large, related attributes form groups. The bound on a total is then the
    exact total within the group plus the epsilons of all other attributes (`partial_bound`).

    Parameters
    ----------
    records : int[n, d] or Observed
        Codes of the records, or the result of `observed`. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes; not needed with an `Observed`.
    releases : float or sequence of mechanisms, channels or epsilons
        Mechanism, channel or epsilon of each attribute's release. A single float is the epsilon of all attributes, for
        any mechanism.
    names : sequence of str, optional
        Attribute names.
    delta : float
        Delta of each release for events. Releases are then any (epsilon, delta)-LDP mechanisms. Each total has the
        epsilon for delta = 0, and the smallest delta that is known to be valid with it.
    max_states : int
        Largest product of numbers of outputs for exact totals, up to 2^24.

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
    pairs = pairwise_leakage(data, releases=releases, delta=delta)
    restricted = data.restricted(releases)
    channels = [enumerated(release) for release in restricted]
    everyone = releases if isinstance(releases, Sequence) else [releases] * len(data.domains)
    limit = min(max_states, MAX_STATES)
    groups = _groups(pairs.matrix, [0 if channel is None else max(channel.shape) for channel in channels], limit)
    d = len(data.sizes)
    whole = len(groups) == 1 and len(groups[0]) == d
    found: dict[int, Leakage] = {}
    for group in groups:
        part = joint_from_records(data.codes[:, group], [data.sizes[j] for j in group])
        exact = totals(part, [channel for j in group if (channel := channels[j]) is not None])[0]
        outside = math.fsum(float(pairs.direct[j]) for j in range(d) if j not in group)
        for j, total in zip(group, exact, strict=True):
            note = _OWN if whole else f"{_OWN}; exact among {len(group)} attributes, plus the epsilons of the others"
            found[j] = Leakage(float(total) + outside, "exact" if whole else "upper bound", note)
    anything = Leakage(float(pairs.direct.sum()), "upper bound", "for any joint distribution")
    tree = () if whole or d < 2 else tree_leakage(TreePrior.from_records(data), restricted).totals
    bounds = [found.get(j, anything) for j in range(d)]
    return RecordLeakage(
        pairs,
        _with_deltas(bounds, pairs, data, data.joint() if whole and delta else None),
        tree if not delta else _with_deltas(tree, pairs, data, None),
        math.fsum(map(release_epsilon, everyone)),
        composed_delta(own_deltas(delta, everyone).tolist()) if delta else 0.0,
    )


def _with_deltas(
    totals: Sequence[Leakage], pairs: PairwiseLeakage, data: Observed, joint: Floats | None
) -> tuple[Leakage, ...]:
    """Return totals with the deltas that are valid beside them; the joint is needed for exact ones."""
    if not totals or not pairs.direct_delta.any():
        return tuple(totals)
    found = worst_deltas(
        joint,
        data.sizes,
        pairs.direct.tolist(),
        pairs.direct_delta.tolist(),
        [total.epsilon for total in totals],
    )
    return tuple(
        replace(total, delta=float(delta), note=total.note if sure else f"{total.note}; delta perhaps too high")
        for total, delta, sure in zip(totals, found.deltas, found.attained, strict=True)
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


# ---------------------------------------------------------------- summaries with names and texts


def summarize(
    records: ArrayLike,
    schema: Schema,
    releases: EpsilonLike | Sequence[Release],
    *,
    source: str,
    release: str,
    released: Sequence[str] | None = None,
    target: str | None = None,
    strongest: int = 10,
    notes: Sequence[str] = (),
    delta: float = 0.0,
) -> LeakageSummary:
    """Data-protection officer: return the leakage of a release, attribute by attribute, about people in a data set.

    Parameters
    ----------
    records : int[n, d]
        Codes of the schema's attributes. Their empirical distribution is the adversary's prior.
    schema : Schema
        Names and labels.
    releases : epsilon, or sequence of d mechanisms
        Mechanism of each attribute's release, or one epsilon for all attributes. With an epsilon, figures are the
        largest over all mechanisms with this budget.
    source : str
        Source of the records, for instance the name of a file.
    release : str
        Description of the release in words.
    released : sequence of str, optional
        Attributes that are released. By default all. Leakage is computed about the others, too.
    target : str, optional
        Attribute about which leakage is requested. By default all attributes.
    strongest : int
        Number of pairs to describe in words.
    notes : sequence of str
        Facts about the records that a reader must know.
    delta : float
        Delta of each release for events. Releases are then any mechanisms with this epsilon and delta.

    Raises
    ------
    InvalidInputError
        If fewer than two attributes vary, or the target or a released attribute is unknown or constant.
    InvalidParameterError
        If `delta` is out of range, or not 0 although mechanisms are given. Also if the schema asks for open text, or a
        mechanism is for whole records.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.survey.schema import Attribute
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 1]], [500, 400, 100], axis=0)
    >>> found = summarize(records, schema, 1.0, source="faces.csv", release="by any mechanism, epsilon = 1")
    >>> for pair in found.strongest:
    ...     print(pair)
    releasing male reveals 0.62 to 0.69 of a possible 1.00 about bald (0.67 in these records, of which few tell)
    releasing bald reveals 0.25 to 0.34 of a possible 1.00 about male (0.30 in these records, of which few tell)
    """
    schema.check_listed("leakage is computed for listed categories")
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema, target)
    chosen = _chosen(schema, releases, released)
    # If the whole joint distribution does not fit, groups stay small enough to be contracted in a second.
    limit = DEFAULT_STATES if math.prod(data.sizes) <= DEFAULT_STATES else _GROUP_STATES
    found = record_leakage(data, releases=chosen, delta=delta, max_states=limit)
    deltas = found.pairwise.deltas
    pairs = _strongest(found.pairwise.matrix, found.pairwise.direct, data, target, strongest, deltas)
    worst = isinstance(releases, str) or not isinstance(releases, Sequence)
    direct, additive = found.pairwise.direct, found.additive_figure_not_a_bound
    additive_deltas = found.pairwise.additive_delta_not_a_bound
    totals = tuple(map(_attained, found.totals)) if worst else found.totals
    return LeakageSummary(
        prior=Prior(source, len(codes)),
        release=Released(release, worst, _epsilons(data, direct, released), float(delta)),
        names=data.names,
        direct=direct,
        matrix=found.pairwise.matrix,
        deltas=deltas if delta else None,
        strongest=with_ranges(pairs, data, chosen),
        all_totals=tuple(
            Total(
                name,
                float(direct[i]),
                totals[i],
                found.tree[i] if found.tree else None,
                float(additive[i]),
                float(additive_deltas[i]),
            )
            for i, name in enumerate(data.names)
        ),
        prior_free=found.prior_free,
        prior_free_delta=found.prior_free_delta,
        target=target,
        notes=(*notes, *left_out(data, schema)),
        warnings=(*warnings_of(data, schema, exact=not found.tree), *rare_warnings(data, direct)),
    )


def summarize_collection(
    records: ArrayLike, collection: Collection, *, source: str, target: str | None = None, strongest: int = 10
) -> LeakageSummary:
    """Data-protection officer: return the leakage of one report of a collection about each attribute.

    The prior is the distribution of the given records. The collection and its id do not change. The result has the
    collection's guarantee with a section about this prior.

    Parameters
    ----------
    records : int[n, d]
        Codes of the collection's attributes. Their empirical distribution is the adversary's prior.
    collection : Collection
        Collection whose mechanism is SPL, SMP (also adaptive or pivot-coded), PairSample, RS+FD or RS+RFD.
    source, target, strongest
        See `summarize`.

    Raises
    ------
    InvalidParameterError
        If the collection has another mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import SMP, Attribute, Collection, Schema
    >>> schema = Schema((Attribute("smoker", ("yes", "no")), Attribute("drinker", ("yes", "no"))))
    >>> survey = Collection(schema, SMP(sizes=(2, 2), epsilon=1.0))
    >>> told = np.array([[0, 0]] * 30 + [[0, 1], [1, 0]] * 20 + [[1, 1]] * 30)
    >>> found = summarize_collection(told, survey, source="an earlier wave")
    >>> [str(total.total) for total in found.all_totals]
    ['1.0000 (exact)', '1.0000 (exact)']
    """
    schema = collection.schema
    mechanism: Any = collection.mechanism
    if len(schema.sizes) < 2:
        raise InvalidParameterError(
            "leakage through correlation needs at least two attributes, but the collection has one attribute. For "
            f"every prior, the leakage about this attribute is epsilon = {collection.privacy().epsilon:g}"
        )
    spec = to_spec(mechanism)
    over = f" over {spec['oracle']}" if "oracle" in spec else ""
    release = f"by {mechanism.name}{over} with epsilon = {float(mechanism.epsilon):g} for the whole contributor"
    if mechanism.reveals == "all":
        found = summarize(
            records, schema, mechanism.oracles, source=source, release=release, target=target, strongest=strongest
        )
    else:
        found = _sampling(records, collection, source, release, target, strongest)
    totals = [total.total for total in found.all_totals]
    prior = f"the joint distribution of {source}"
    return replace(
        found,
        guarantee=guarantee_under_prior(collection.privacy(), totals, found.names, prior),
        collection=collection.id,
        title=collection.title,
    )


def guarantee_under_prior(
    guarantee: Guarantee, totals: Sequence[Leakage], names: Sequence[str], prior: str
) -> Guarantee:
    """Return a guarantee with a section on leakage: a row for each attribute, for an adversary with a stated prior.

    The promise itself and the collection's id do not change. The new rows have the status "assumption", because they
    hold only for this prior.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of the collection, ``collection.privacy()``.
    totals : sequence of Leakage
        Leakage about each attribute by one report.
    names : sequence of str
        The attributes' names.
    prior : str
        Knowledge of the adversary in words, for instance "the joint distribution of census.csv".

    Examples
    --------
    >>> from deniable import GRR
    >>> section = guarantee_under_prior(GRR(k=2, epsilon=1.0).privacy(), [Leakage(0.7, "exact")], ["sex"], "census.csv")
    >>> print(str(section).splitlines()[-1])
      collector who sees one report and asks about sex: epsilon = 0.7 (assumption; exact if the prior is census.csv)
    """
    if len(totals) != len(names):
        raise InvalidInputError(f"names must have one name for each of {len(totals)} attributes, got {len(names)}")
    rows = tuple(
        TrustModel(
            "collector",
            f"one report and asks about {name}",
            total.epsilon,
            status="assumption",
            note="; ".join(filter(None, [f"{total.status} if the prior is {prior}", total.note])),
        )
        for name, total in zip(names, totals, strict=True)
    )
    return replace(guarantee, trust_models=(*guarantee.trust_models, *rows))


def _sampling(
    records: ArrayLike, collection: Collection, source: str, release: str, target: str | None, strongest: int
) -> LeakageSummary:
    schema = collection.schema
    mechanism: Any = collection.mechanism
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema, target)
    found = sampled_leakage(codes, mechanism)
    pairs = _strongest(found.matrix, found.direct, data, target, strongest)
    return LeakageSummary(
        prior=Prior(source, len(codes)),
        release=Released(release, False, _epsilons(data, found.direct, None)),
        names=data.names,
        direct=found.direct,
        matrix=found.matrix,
        strongest=with_ranges(pairs, data, mechanism.oracles) if mechanism.reveals == "one" else tuple(pairs),
        all_totals=tuple(
            Total(name, float(own), total)
            for name, own, total in zip(data.names, found.direct, found.totals, strict=True)
        ),
        prior_free=mechanism.privacy().epsilon,
        target=target,
        notes=left_out(data, schema),
        warnings=warnings_of(data, schema, exact=False),
    )


def _chosen(schema: Schema, releases: EpsilonLike | Sequence[Release], released: Sequence[str] | None) -> list[Release]:
    """Return one release per attribute of the schema."""
    unknown = [name for name in released or () if name not in schema.names]
    if unknown:
        raise InvalidParameterError(f"attributes must be among {listed(schema.names)}, got {quoted(unknown[0])}")
    if isinstance(releases, Sequence) and not isinstance(releases, str):
        chosen = list(releases)
        check_releases(chosen, len(schema.sizes))
    else:
        epsilon = float(checked_epsilon(releases))
        made = {k: any_mechanism_channel(k, epsilon) for k in set(schema.sizes) if k <= MAX_DOMAIN}
        chosen = [made.get(k, epsilon) for k in schema.sizes]
    # An attribute that is not released has one output, which says nothing.
    return [
        release if released is None or name in released else np.ones((k, 1))
        for name, k, release in zip(schema.names, schema.sizes, chosen, strict=True)
    ]


def _epsilons(data: Observed, direct: Floats, released: Sequence[str] | None) -> dict[str, float]:
    shown = zip(data.names, direct.tolist(), strict=True)
    return {name: own for name, own in shown if released is None or name in released}


def _attained(total: Leakage) -> Leakage:
    """Return an exact total for the worst mechanism as what it is for any other."""
    if total.status != "exact":
        return total
    return replace(total, status="upper bound", note=f"{total.note}; attained by some mechanism with these epsilons")


def _strongest(
    matrix: Floats, direct: Floats, data: Observed, target: str | None, count: int, deltas: Floats | None = None
) -> list[Pair]:
    pairs = strongest_pairs(matrix, direct, data.names, count, target, deltas)
    return [pair for pair in pairs if pair.epsilon > 0]
