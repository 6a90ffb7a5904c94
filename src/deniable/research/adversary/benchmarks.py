"""Two benchmarks of the paper: the errors of algorithms that estimate leakage, and the leakage of mechanisms.

Source: *The Hidden Cost of Correlation* (2025), sections V-A and V-B. Everything is computed in closed form, and
nothing is simulated. CBP is left out. It calibrates budgets under univariate dominance LDP, whose definition the paper
does not give, so any reconstruction would be an invention. ITS is `its`. The paper only says about ITS that it solves
the ratio for mechanisms of two probabilities. The rest of `its` is inferred. Channel-based leakage (of the report) and
attack-based leakage (of an adversary's guess from the report) are returned side by side under their own names. The
paper plots the attack-based leakage, which ranks attacks as much as mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csgraph

from deniable.core.checks import checked_integer
from deniable.errors import InvalidInputError, out_of_range
from deniable.leakage.prior.correlation import Release
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import Observed, observed
from deniable.leakage.prior.pairwise import matrix_of
from deniable.oracles.grr import GRR
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.sketch.local_hashing import BLH, OLH
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.research.adversary.attacks import attack_channel, attack_success
from deniable.research.baselines.exponential import Exponential
from deniable.research.baselines.histogram import SHE

Region = Literal["P1", "R1", "R2", "R3"]

THRESHOLDS = (0.2, 0.4)
"""Correlations between which an association is called weak. GRF cuts at either of them."""


@dataclass(frozen=True)
class AlgorithmScore:
    """Errors of one algorithm in benchmark 1.

    Parameters
    ----------
    name : str
        The algorithm.
    undershoot, overshoot : float
        Mean underestimate max(0, reference - estimate)/epsilon and mean overestimate max(0, estimate -
        reference)/epsilon. Means are over ordered pairs of attributes.
    """

    name: str
    undershoot: float
    overshoot: float

    @property
    def region(self) -> Region:
        """Kind of errors: P1 none, R1 only underestimates (a risk), R2 only overestimates (a cost), R3 both."""
        under, over = self.undershoot > 1e-9, self.overshoot > 1e-9
        return "R3" if under and over else "R1" if under else "R2" if over else "P1"


def score(name: str, estimate: ArrayLike, reference: ArrayLike, epsilon: float) -> AlgorithmScore:
    """Return the place of an estimated leakage matrix relative to a reference matrix, as in the paper's (21).

    Parameters
    ----------
    name : str
        Name of the algorithm.
    estimate, reference : float[d, d]
        CPL about i by the release of j. The diagonals are ignored.
    epsilon : float
        Budget of every attribute, > 0.

    Raises
    ------
    InvalidInputError
        If a figure is not finite, or the shapes differ.

    Examples
    --------
    >>> point = score("half", [[0, 0.5], [0.2, 0]], [[0, 0.4], [0.4, 0]], epsilon=1.0)
    >>> round(point.undershoot, 3), round(point.overshoot, 3), point.region
    (0.1, 0.05, 'R3')
    """
    if not epsilon > 0:
        raise out_of_range("epsilon", "> 0", epsilon)
    estimated, true = off_diagonal(estimate, "estimate"), off_diagonal(reference, "reference")
    if estimated.shape != true.shape:
        raise InvalidInputError(
            f"estimate and reference must have the same shape, got {estimated.size} and {true.size} pairs"
        )
    difference = (estimated - true) / epsilon
    return AlgorithmScore(name, float(np.maximum(-difference, 0).mean()), float(np.maximum(difference, 0).mean()))


def spl_anl(d: int, epsilon: float) -> Floats:
    """Return SPL-ANL's estimate, float64[d, d], in which every attribute reveals everything about every other.

    Examples
    --------
    >>> spl_anl(2, 0.5)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return epsilon * (1 - np.eye(checked_integer("d", d, 1)))


def its(conditional: ArrayLike, epsilon: float) -> float:
    """Return ITS's estimate for one pair, as far as the paper describes it.

    ITS uses the ratio for a mechanism of two probabilities. If one value has a high probability and all others have a
    low one, with high/low = e^epsilon, the ratio (10) has a single value in its set. That is inferred: the paper names
    the family ("such as GRR") and not the formula.

    Parameters
    ----------
    conditional : float64[K, k]
        P(X_j = u | X_i = x).
    epsilon : float
        Budget of X_j.

    Examples
    --------
    >>> round(its([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], 1.0), 4)
    0.6201
    """
    likelihoods = 1 + np.asarray(conditional, dtype=np.float64) * math.expm1(epsilon)
    return float(np.log(likelihoods.max(axis=0) / likelihoods.min(axis=0)).max())


def grf(
    records: ArrayLike, sizes: Sequence[int], epsilon: float, threshold: float, *, components: bool = False
) -> Floats:
    """Return GRF(THR)'s estimate: epsilon if the Pearson correlation of the codes reaches the threshold, and 0 if not.

    The paper can be read in two ways: pair by pair, which explains its figures, or by connected component of the graph
    of correlated pairs. Codes of nominal attributes have no order, which is one reason why this estimate is poor.

    Parameters
    ----------
    records : int[n, d]
        Codes of the records. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    epsilon : float
        Budget of every attribute.
    threshold : float
        THR, in [0, 1].
    components : bool
        True if epsilon also holds between attributes that are connected through others.

    Returns
    -------
    float64[d, d]
        Estimate over the attributes that vary.

    Examples
    --------
    >>> import numpy as np
    >>> records = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> grf(records, (2, 2, 2), 1.0, 0.4)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    return _grf(observed(records, sizes), epsilon, threshold, components)


def _grf(data: Observed, epsilon: float, threshold: float, components: bool) -> Floats:
    if not 0 <= threshold <= 1:
        raise out_of_range("threshold", "in [0, 1]", threshold)
    original = np.column_stack([seen[data.codes[:, j]] for j, seen in enumerate(data.categories)])
    linked = np.atleast_2d(np.abs(np.corrcoef(original, rowvar=False)) >= threshold)
    if components:
        _, label = csgraph.connected_components(linked, directed=False)
        linked = label[:, None] == label
    np.fill_diagonal(linked, False)
    return np.where(linked, float(epsilon), 0.0)


def benchmark_algorithms(
    records: ArrayLike, sizes: Sequence[int], epsilon: float, *, reference: ArrayLike | None = None
) -> tuple[AlgorithmScore, ...]:
    """Return the errors of algorithms that estimate CPL (benchmark 1 in *The Hidden Cost of Correlation*).

    Parameters
    ----------
    records : int[n, d]
        Codes of the records. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    epsilon : float
        Budget of every attribute.
    reference : float[d, d], optional
        Leakage to estimate, for the attributes that vary. The default is the largest leakage of all mechanisms with
        this epsilon (Algorithm 2, `worst_case_cpl`).

    Returns
    -------
    tuple of AlgorithmScore
        Scores of the algorithms that the paper compares: SPL-ANL, GRF (by pairs and by components, at each of
        `THRESHOLDS`), ITS (if `its` can compute it), GRR-ANL and EXP-ANL.

    Examples
    --------
    >>> import numpy as np
    >>> bald = np.repeat([0, 0, 1, 1], [50, 40, 0, 10])
    >>> male = np.repeat([0, 1, 0, 1], [50, 40, 0, 10])
    >>> for point in benchmark_algorithms(np.column_stack([bald, male]), (2, 2), epsilon=1.0):
    ...     print(f"{point.name:22} {point.undershoot:.3f} {point.overshoot:.3f} {point.region}")
    SPL-ANL                0.000 0.517 R2
    GRF(0.2)               0.000 0.517 R2
    GRF(0.2), components   0.000 0.517 R2
    GRF(0.4)               0.483 0.000 R1
    GRF(0.4), components   0.483 0.000 R1
    ITS                    0.000 0.000 P1
    GRR-ANL                0.000 0.000 P1
    EXP-ANL                0.268 0.000 R1
    """
    priors = observed(records, sizes)
    d = len(priors.kept_domains)
    true = leakage_matrix(priors, [epsilon] * d) if reference is None else np.asarray(reference, dtype=np.float64)
    grr = leakage_matrix(priors, [GRR(k, epsilon) for k in priors.kept_domains])
    estimates = {"SPL-ANL": spl_anl(d, epsilon)}
    for threshold in THRESHOLDS:
        estimates[f"GRF({threshold})"] = _grf(priors, epsilon, threshold, components=False)
        estimates[f"GRF({threshold}), components"] = _grf(priors, epsilon, threshold, components=True)
    two_levels = np.zeros((d, d))
    for i, j in zip(*np.nonzero(~np.eye(d, dtype=np.bool_)), strict=True):
        two_levels[i, j] = its(priors.conditional(int(i), int(j)), epsilon)
    estimates |= {"ITS": two_levels, "GRR-ANL": grr}
    estimates["EXP-ANL"] = leakage_matrix(priors, [Exponential(k, epsilon) for k in priors.kept_domains])
    return tuple(score(name, estimate, true, epsilon) for name, estimate in estimates.items())


def off_diagonal(matrix: ArrayLike, name: str) -> Floats:
    """Return the entries of a leakage matrix for all ordered pairs, or raise InvalidInputError if it is not one."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise InvalidInputError(f"{name} must be a square matrix with at least two rows, got shape={array.shape}")
    pairs: Floats = array[~np.eye(len(array), dtype=np.bool_)]
    if not np.isfinite(pairs).all():
        raise InvalidInputError(f"{name} must contain only finite numbers, got infinity or NaN")
    return pairs


MECHANISMS: Mapping[str, Callable[[int, Any], FrequencyOracle[Any]]] = {
    "GRR": GRR,
    "RAPPOR": SUE,
    "EXP": Exponential,
    "OUE": OUE,
    "BLH": BLH,
    "OLH": OLH,
    "SHE": SHE,
    "SS": SubsetSelection,
}
"""The paper's eight mechanisms, from (k, epsilon). Its RAPPOR is basic one-time RAPPOR, which is `SUE`."""


@dataclass(frozen=True)
class MechanismScore:
    """Leakage and error of one mechanism in benchmark 2.

    Parameters
    ----------
    name : str
        The mechanism.
    channel_tcpl, attack_tcpl : float
        Total CPL of the reports, and total CPL of an adversary's guesses from the reports. Both are sums over all
        ordered pairs of attributes, divided by the total of Algorithm 2. For mechanisms to which Algorithm 1 did not
        apply, equation (22) in *The Hidden Cost of Correlation* is the second number.
    attack_nmse_cpl : float
        Sum of squared differences between the CPL of guesses and the CPL of Algorithm 2, divided by the sum of squares
        of the CPL of Algorithm 2 (29).
    frequency_nmse : float
        Expected sum of squared errors of the estimated frequencies, divided by the sum of squared frequencies, averaged
        over attributes (23).
    zero_one_error : float
        Probability that the adversary's guess of an attribute is wrong, averaged over attributes (24).
    """

    name: str
    channel_tcpl: float
    attack_tcpl: float
    attack_nmse_cpl: float
    frequency_nmse: float
    zero_one_error: float


def benchmark_mechanisms(
    records: ArrayLike,
    sizes: Sequence[int],
    epsilon: float,
    *,
    mechanisms: Mapping[str, Callable[[int, Any], FrequencyOracle[Any]]] = MECHANISMS,
) -> tuple[MechanismScore, ...]:
    """Return the exact leakage and error of mechanisms (benchmark 2 in *The Hidden Cost of Correlation*).

    Parameters
    ----------
    records : int[n, d]
        Codes of the records. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    epsilon : float
        Budget of every attribute.
    mechanisms : mapping of name to callable
        Functions of (k, epsilon) that return a mechanism. The default is `MECHANISMS`, the eight mechanisms that the
        paper compares.

    Raises
    ------
    InvalidInputError
        If there are no records, a code is out of range, or the attributes are independent, so that all leakages are
        zero.

    Examples
    --------
    >>> import numpy as np
    >>> cells = [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1)]
    >>> records = np.repeat(cells, [500, 300, 100, 100, 100, 100, 300, 500], axis=0)
    >>> for row in benchmark_mechanisms(records, (4, 2), epsilon=1.0)[:4]:
    ...     print(f"{row.name:7} {row.channel_tcpl:.3f} {row.attack_tcpl:.3f} {row.frequency_nmse:.4f}")
    GRR     0.911 0.911 0.0082
    RAPPOR  1.000 0.485 0.0190
    EXP     0.454 0.454 0.0402
    OUE     1.000 0.482 0.0193
    """
    priors = observed(records, sizes)
    n = len(priors.codes)
    reference = leakage_matrix(priors, [epsilon] * len(priors.kept_domains))
    if reference.max() < 1e-12:  # rounding errors are not leakage
        raise InvalidInputError(
            "the attributes of the records must depend on each other, but these attributes are independent (the "
            "leakage between them is 0); give records of other attributes"
        )
    scores = []
    for name, make in mechanisms.items():
        chosen = [make(k, epsilon) for k in priors.kept_domains]
        guessed = leakage_matrix(priors, [attack_channel(mechanism) for mechanism in chosen])
        errors = []
        for j, mechanism in enumerate(chosen):
            frequencies = priors.frequencies(j)
            errors.append(sum(mechanism.variance(f, n) for f in frequencies) / float((frequencies**2).sum()))
        scores.append(
            MechanismScore(
                name=name,
                channel_tcpl=float(leakage_matrix(priors, chosen).sum() / reference.sum()),
                attack_tcpl=float(guessed.sum() / reference.sum()),
                attack_nmse_cpl=nmse_cpl(guessed, reference),
                frequency_nmse=float(np.mean(errors)),
                zero_one_error=float(np.mean([1 - attack_success(mechanism) for mechanism in chosen])),
            )
        )
    return tuple(scores)


def nmse_cpl(estimate: ArrayLike, reference: ArrayLike) -> float:
    """Return sum (estimate - reference)^2/sum reference^2 over all ordered pairs of attributes, the paper's (29).

    Examples
    --------
    >>> nmse_cpl([[0, 0.5], [0.5, 0]], [[0, 1.0], [1.0, 0]])
    0.25
    """
    estimated, true = off_diagonal(estimate, "estimate"), off_diagonal(reference, "reference")
    return float(((estimated - true) ** 2).sum() / (true**2).sum())


def leakage_matrix(data: Observed, releases: Sequence[Release]) -> Floats:
    """Return CPL about attribute i by the release of j, float64[d, d].

    There is one release for each attribute that varies.

    Examples
    --------
    >>> import numpy as np
    >>> data = observed(np.array([[0, 0], [0, 1], [1, 1], [1, 1]]), (2, 2))
    >>> leakage_matrix(data, [1.0, 1.0]).round(4)  # Algorithm 2
    array([[0.    , 0.6201],
           [0.7634, 0.    ]])
    """
    if len(releases) != len(data.sizes):
        raise InvalidInputError(
            f"releases must have one entry for each of the {len(data.sizes)} attributes that vary, got "
            f"{len(releases)} entries"
        )
    return matrix_of(data, releases)[0]
