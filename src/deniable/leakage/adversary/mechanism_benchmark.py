"""Benchmark 2 of the paper: what mechanisms leak, and what they are good for.

Source: *The Hidden Cost of Correlation* (2025), section V-B. Everything is computed in closed form; nothing is
simulated. Channel-based leakage (of the report) and attack-based leakage (of an adversary's guess from it) stand side
by side under their own names: the latter is what the paper plots, and ranks attacks as much as mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidInputError
from deniable.leakage.adversary.algorithm_benchmark import off_diagonal
from deniable.leakage.adversary.attacks import attack_channel, attack_success
from deniable.leakage.prior.empirical_prior import observed
from deniable.leakage.prior.pairwise import leakage_matrix
from deniable.oracles.comparators.exponential import Exponential
from deniable.oracles.grr import GRR
from deniable.oracles.histogram import SHE
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.sketch.local_hashing import BLH, OLH
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE

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
    """One mechanism of benchmark 2.

    Parameters
    ----------
    name : str
        The mechanism.
    channel_tcpl, attack_tcpl : float
        Total CPL (the sum over all ordered pairs of attributes) as a share of Algorithm 2's: of the reports, and of
        an adversary's guesses from them. The paper's (22) is the latter wherever its Algorithm 1 did not apply.
    attack_nmse_cpl : float
        Squared differences between attack-based CPL and Algorithm 2's, as a share of the latter's squares (29).
    frequency_nmse : float
        Expected squared error of the estimated frequencies as a share of their squares, mean over attributes (23).
    zero_one_error : float
        Probability that the adversary's guess of an attribute is wrong, mean over attributes (24).
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
    """Benchmark 2: what mechanisms leak and what they are good for, exactly.

    Parameters
    ----------
    records : int[n, d]
        Codes, column j in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    epsilon : float
        Budget of every attribute.
    mechanisms : mapping of name to callable
        From (k, epsilon) to a mechanism; by default the paper's eight, `MECHANISMS`.

    Raises
    ------
    InvalidInputError
        If there are no records, a code is out of range, or the attributes are independent (nothing to normalise by).

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
    if reference.max() < 1e-12:  # rounding errors are no leakage
        raise InvalidInputError("records must have dependent attributes: Algorithm 2's total CPL is 0")
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
    """Return sum (estimate - reference)^2/sum reference^2 over all ordered pairs of attributes (the paper's (29)).

    Examples
    --------
    >>> nmse_cpl([[0, 0.5], [0.5, 0]], [[0, 1.0], [1.0, 0]])
    0.25
    """
    estimated, true = off_diagonal(estimate, "estimate"), off_diagonal(reference, "reference")
    return float(((estimated - true) ** 2).sum() / (true**2).sum())
