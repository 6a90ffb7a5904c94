"""Measured losses of one mechanism on one data set, and their theory."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from deniable import CountMeanSketch, SimulationRandomness
from experiments.harness import Cell
from experiments.ocms.methods import METHODS, Oracle, variances
from experiments.ocms.populations import Population, population
from experiments.ocms.statistics import maximum_error, randomness, standard_error, upper_factor


def losses(cell: Cell) -> Cell:
    """Measure a cell {data, method, epsilon, runs, seed}; see `measure`."""
    return measure(cell, population(cell["data"], cell["seed"]))


def estimated(mechanism: Oracle, people: Population, rng: SimulationRandomness) -> NDArray[np.float64]:
    """Return the estimated frequencies of the values of interest in one collection, float64[q]."""
    if isinstance(mechanism, CountMeanSketch) and mechanism.family == "prime" and len(people.interest) < people.k:
        # A state would compare every report with every value of the dictionary, so none is made.
        reports = mechanism.randomize(np.repeat(np.arange(people.k), people.counts), rng)
        support = mechanism.count_support(reports, people.interest)
        return mechanism.estimate_support(support, people.n, people.interest).frequencies
    aggregate = mechanism.simulate_aggregate(people.counts, rng)
    return mechanism.estimate(aggregate).frequencies[people.interest]


def measure(cell: Cell, people: Population) -> Cell:
    """Return the losses of the paper's section 6 over the values of interest, and their theory.

    worst_mse is eq. (19), the largest of the values' mean squared errors over the runs. l1 and l2 are means over the
    runs of sums over the values. Theory: worst_theory is the largest variance, and worst_upper the bound of Theorem
    K.1. l1_theory is for normal errors, and l1_bound follows from Cauchy-Schwarz. l2_theory is the sum of the variances
    at the realised frequencies.
    """
    started = time.process_time()
    method = METHODS[cell["method"]]
    if method.unstructured:
        people = people.compact()
    truth, epsilon, runs = people.frequencies[people.interest], cell["epsilon"], cell["runs"]
    mechanism = method.build(people.k, epsilon, people.max_frequency, 0)
    errors = np.empty((runs, len(truth)))
    for run in range(runs):
        rng = randomness(cell, run)
        if method.seeded:
            mechanism = method.build(people.k, epsilon, people.max_frequency, rng.seed)
        errors[run] = estimated(mechanism, people, rng) - truth
    theory = variances(mechanism, people)
    squares = errors**2
    l1, l2, per_value = np.abs(errors).sum(axis=1), squares.sum(axis=1), squares.mean(axis=0)
    return {
        "k": people.k,
        "n": people.n,
        "values": len(truth),
        "mechanism": repr(mechanism),
        "worst_mse": float(per_value.max()),
        "worst_error": maximum_error(squares) if runs > 1 else math.inf,
        "worst_theory": float(theory.max()),
        "worst_upper": float(theory.max()) * upper_factor(len(truth), runs),
        "l1": float(l1.mean()),
        "l1_error": standard_error(l1),
        "l1_theory": float(math.sqrt(2 / math.pi) * np.sqrt(theory).sum()),
        "l1_bound": math.sqrt(len(truth) * float(theory.sum())),
        "l2": float(l2.mean()),
        "l2_error": standard_error(l2),
        "l2_theory": float(theory.sum()),
        "bits": mechanism.report_bits,
        "seconds": round(time.process_time() - started, 3),
    }
