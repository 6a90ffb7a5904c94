"""Independent computations for comparison with leakage: definitions, written out over all outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import GRR
from deniable.oracles.rappor import RAPPOR
from deniable.oracles.sketch.local_hashing import BLH
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.research.baselines.exponential import Exponential
from deniable.research.baselines.histogram import SHE
from deniable.research.baselines.histogram_threshold import THE

Floats = NDArray[np.float64]


def likelihoods(joint: Floats, channels: Sequence[Floats], target: int, released: Sequence[int]) -> Floats:
    """Return P(y_released | x_target) for all combinations of outputs, one record and one output at a time."""
    records = list(itertools.product(*(range(size) for size in joint.shape)))
    mass = [sum(joint[r] for r in records if r[target] == x) for x in range(joint.shape[target])]
    columns = []
    for outputs in itertools.product(*(range(channels[j].shape[1]) for j in released)):
        column = np.zeros(joint.shape[target])
        for record in records:
            probability = joint[record]
            for j, y in zip(released, outputs, strict=True):
                probability *= channels[j][record[j], y]
            column[record[target]] += probability / mass[record[target]]
        columns.append(column)
    return np.array(columns).T


def leakage(likelihood: Floats) -> float:
    """Return max over x, x', y of ln P(y|x)/P(y|x'), infinite on a one-sided zero."""
    worst = 0.0
    for column in likelihood.T:
        if column.max() > 0:
            worst = max(worst, math.inf if column.min() == 0 else math.log(column.max() / column.min()))
    return worst


def enumerated_total(joint: Floats, channels: Sequence[Floats], target: int) -> float:
    """Return definition (5) of total leakage by enumeration of all outputs."""
    return leakage(likelihoods(joint, channels, target, range(joint.ndim)))


def enumerated_joint_cpl(joint: Floats, channels: Sequence[Floats], target: int, sources: Sequence[int]) -> float:
    """Return definition (3) of joint CPL by enumeration of the sources' outputs."""
    return leakage(likelihoods(joint, channels, target, sources))


def random_joint(rng: np.random.Generator, sizes: Sequence[int], zeros: float = 0.0) -> Floats:
    """Return a random joint with a share of empty cells, but no empty category."""
    while True:
        cells = rng.dirichlet(np.full(math.prod(sizes), 0.7))
        cells[rng.random(len(cells)) < zeros] = 0
        joint = (cells / cells.sum()).reshape(sizes) if cells.sum() else np.zeros(sizes)
        others = [tuple(j for j in range(len(sizes)) if j != axis) for axis in range(len(sizes))]
        if all(joint.sum(axis=axes).min() > 0 for axes in others):
            return np.asarray(joint, dtype=np.float64)


def conditionally_independent(rng: np.random.Generator, target: int, *blocks: Sequence[int]) -> Floats:
    """Return a joint with axes (target, all of block 1, all of block 2, ...): blocks independent given axis 0."""
    table = rng.dirichlet(np.ones(target))
    for block in blocks:
        rows = rng.dirichlet(np.full(math.prod(block), 0.7), size=target).reshape(target, *block)
        shape = (target, *(1,) * (table.ndim - 1), *block)
        table = table.reshape(*table.shape, *(1,) * len(block)) * rows.reshape(shape)
    return np.asarray(table, dtype=np.float64)


def hidden_among(neighbours: int) -> Floats:
    """Return the joint of X_0 = x: all neighbours 1 with probability 1/n, else all 0; X_0 = x': exactly one is 1."""
    joint = np.zeros((2,) * (neighbours + 1))
    joint[(0, *(1,) * neighbours)] = 0.5 / neighbours
    joint[(0, *(0,) * neighbours)] = 0.5 - 0.5 / neighbours
    for one in range(neighbours):
        joint[(1, *(int(j == one) for j in range(neighbours)))] = 0.5 / neighbours
    return joint


def small_mechanisms(k: int, epsilon: float) -> dict[str, Any]:
    """Return mechanisms whose channels are small enough to enumerate."""
    return {
        "GRR": GRR(k, epsilon),
        "Exponential": Exponential(k, epsilon),
        "SubsetSelection": SubsetSelection(k, epsilon, 1 if k == 2 else 2),
        "OUE": OUE(k, epsilon),
        "SUE": SUE(k, epsilon),
        "THE": THE(k, epsilon),
        "RAPPOR": RAPPOR.from_epsilon(k, epsilon),
        "SHE": SHE(k, epsilon, resolution=1, clamp=1),
        "BLH": BLH(k, epsilon),
    }
