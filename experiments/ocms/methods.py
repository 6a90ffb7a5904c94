"""Mechanisms of the paper's comparison, and some others, with the theory of their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import OLH, OUE, SUE, CountMeanSketch, SubsetSelection
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.sketch.ocms import OCMS, Mode, ocms_choice
from deniable.research.baselines.apple import AppleCMS
from deniable.research.baselines.apple_hadamard import AppleHCMS
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.baselines.projective_geometry import PGR
from deniable.research.baselines.recursive_hadamard import RecursiveHadamard
from experiments.ocms.populations import Population

Oracle = FrequencyOracle[Any]
Build = Callable[[int, float, int, int], Oracle]
"""(k, epsilon, f*, seed of public hash functions) -> mechanism."""

HASHES, CELLS = 1024, 1024
"""Numbers of hash functions and of cells of Apple's sketches here.

The deployments' 65,536 functions would have a 64 times smaller squared bias. Here the bias is at most a few percent of
the variance, and is part of the theory.
"""


@dataclass(frozen=True)
class Method:
    """One mechanism of the comparison.

    Parameters
    ----------
    name : str
        Its name in tables and pictures.
    build : callable
        See `Build`.
    group : str
        Group of equivalent mechanisms, for colours: "ocms", "mse", "sue", "he" or "rhr".
    unstructured : bool
        Whether its distribution is independent of the numbering of the values, so that values without holders may be
        left out.
    seeded : bool
        Whether it has public hash functions, which each repetition draws anew.
    """

    name: str
    build: Build
    group: str
    unstructured: bool = False
    seeded: bool = False


def sketch(family: str, mode: Mode) -> Build:
    """Return the builder of the optimised sketch with one family."""

    def build(k: int, epsilon: float, max_frequency: int, _: int) -> Oracle:
        bound = None if mode == "l2" else max_frequency
        options = ocms_choice(k, epsilon, mode, bound).options
        m = next(option.m for option in options if option.family == family)
        return CountMeanSketch(k, epsilon, m, family)

    return build


METHODS = {
    method.name: method
    for method in (
        Method("OCMS", lambda k, e, *_: OCMS(k, e), "ocms"),
        Method("OCMS (prime)", sketch("prime", "l2"), "ocms"),
        Method("OCMS-MSE", lambda k, e, f, _: OCMS(k, e, "mse", f), "mse"),
        Method("OCMS-MSE (prime)", sketch("prime", "mse"), "mse"),
        Method("HE", lambda k, e, *_: HadamardEncoding(k, e), "he"),
        Method("CMS+HE", lambda k, e, _, s: AppleHCMS(k, e, CELLS, HASHES, s), "he", True, True),
        Method("RHR", lambda k, e, *_: RecursiveHadamard(k, e), "rhr"),
        Method("Apple CMS", lambda k, e, _, s: AppleCMS(k, e, CELLS, HASHES, s), "sue", True, True),
        Method("SUE", lambda k, e, *_: SUE(k, e), "sue"),
        Method("OUE", lambda k, e, *_: OUE(k, e), "ocms"),
        Method("SS", lambda k, e, *_: SubsetSelection(k, e), "ocms"),
        Method("PGR", lambda k, e, *_: PGR(k, e), "ocms"),
        Method("OLH", lambda k, e, *_: OLH(k, e), "ocms"),
    )
}


def variances(mechanism: Oracle, people: Population) -> NDArray[np.float64]:
    """Return the theoretical mean squared errors of the values of interest, float64[q].

    The result is the variance at the realised frequency. For recursive Hadamard response it is also at the realised
    frequency of the value's companions. For Apple's sketches it includes the squared bias, averaged over their hash
    functions.
    """
    n, f = people.n, people.frequencies
    absent, present = mechanism.variance(0.0, n), mechanism.variance(1.0, n)
    own = f[people.interest]
    if isinstance(mechanism, RecursiveHadamard):
        # The variance is affine in f and in the companions' frequency g (see RecursiveHadamard.variance).
        absent = mechanism.variance(0.0, n, companions=0.0)
        low = np.arange(people.k) % mechanism.classes
        together = np.bincount(low, weights=f)[people.interest % mechanism.classes]
        slope = mechanism.variance(0.0, n, companions=1.0) - absent
        result: NDArray[np.float64] = absent + (present - absent) * own + slope * (together - own)
        return result
    result = absent + (present - absent) * own
    if isinstance(mechanism, (AppleCMS, AppleHCMS)):
        result = result + mechanism.expected_squared_bias(f)[people.interest]
    return result


def worst_l2(mechanism: Oracle) -> float:
    """Return the largest sum of all k variances over all data sets, in units of 1/n.

    The variance is affine in the frequency, and frequencies sum to one. For any data, the sum is therefore (k-1)
    variances at 0 and one at 1. For recursive Hadamard response, all contributors hold a value of a largest class.
    """
    k = mechanism.k
    if isinstance(mechanism, RecursiveHadamard):
        companions = -(-k // mechanism.classes) - 1
        return (
            mechanism.variance(1.0, 1, companions=0.0)
            + companions * mechanism.variance(0.0, 1, companions=1.0)
            + (k - 1 - companions) * mechanism.variance(0.0, 1, companions=0.0)
        )
    return (k - 1) * mechanism.variance(0.0, 1) + mechanism.variance(1.0, 1)


def worst_mse(mechanism: Oracle) -> float:
    """Return the largest variance of one estimate over all data sets, in units of 1/n."""
    if isinstance(mechanism, RecursiveHadamard):
        return mechanism.worst_variance(1)
    return max(mechanism.variance(0.0, 1), mechanism.variance(1.0, 1))
