"""Tree priors: the learned tree, its joint distribution, and totals against the exact totals of this distribution."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, SimulationRandomness
from deniable.errors import InvalidInputError
from deniable.leakage import TreePrior, tree_leakage
from deniable.leakage.prior.empirical_prior import PairCounts
from deniable.leakage.prior.tree import chow_liu_edges
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE
from deniable.research.leakage import exact_totals, total_leakage

PAIR = np.array([[0.4, 0.1], [0.1, 0.4]])


def _random_tree(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[TreePrior, NDArray[np.float64]]:
    """Return a random tree prior, and its joint built from the root outwards."""
    d = len(sizes)
    edges = [(int(rng.integers(0, i)), i) for i in range(1, d)]
    joint = rng.dirichlet(np.ones(sizes[0])).reshape(-1, *(1,) * (d - 1))
    for parent, child in edges:
        shape = [1] * d
        shape[parent], shape[child] = sizes[parent], sizes[child]
        joint = joint * rng.dirichlet(np.full(sizes[child], 0.8), size=sizes[parent]).reshape(shape)
    if rng.random() < 0.5:
        edges = [(child, parent) for parent, child in edges]
    tables = []
    for i, j in edges:
        table = joint.sum(axis=tuple(axis for axis in range(d) if axis not in (i, j)))
        tables.append(table if i < j else table.T)
    return TreePrior(sizes, tuple(edges), tuple(tables)), joint


@pytest.mark.parametrize("seed", range(20))
def test_totals_are_those_of_the_joint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    sizes = tuple(int(k) for k in rng.integers(2, 4 if seed % 2 else 3, size=d))
    prior, joint = _random_tree(rng, sizes)
    assert prior.joint() == pytest.approx(joint, abs=1e-12)
    kinds = (GRR, OUE, SubsetSelection)
    mechanisms = [kinds[int(rng.integers(3))](k, round(float(rng.uniform(0.2, 2)), 2)) for k in sizes]
    found, exact = tree_leakage(prior, mechanisms), total_leakage(joint, mechanisms)
    assert [total.status for total in found.totals] == ["exact"] * d
    assert all(found.attained)
    assert [total.epsilon for total in found.totals] == pytest.approx(list(exact.exact), abs=1e-9)
    assert found.joint_cpl == pytest.approx(exact.joint_cpl, abs=1e-9)
    assert found.direct == pytest.approx(exact.direct, abs=1e-12)


def test_branches_too_large_to_list_are_bounded() -> None:
    rng = np.random.default_rng(11)
    bounds = 0
    for _ in range(20):
        prior, joint = _random_tree(rng, (3, 3, 2, 3, 2))
        mechanisms = [GRR(k, 1.0) for k in prior.sizes]
        exact = exact_totals(joint, mechanisms)
        for total, expected in zip(tree_leakage(prior, mechanisms, max_rays=6).totals, exact, strict=True):
            assert total.status in ("exact", "upper bound")
            bounds += total.status == "upper bound"
            slack = 1e-9 if total.status == "exact" else math.inf
            assert expected - 1e-9 <= total.epsilon <= expected + slack
    assert bounds > 20


def test_budgets_alone_give_the_worst_case_over_mechanisms() -> None:
    rng = np.random.default_rng(12)
    for _ in range(10):
        prior, joint = _random_tree(rng, (2, 3, 3))
        found = tree_leakage(prior, [1.0, 0.5, 0.8])
        assert {total.status for total in found.totals} == {"upper bound"}
        for kind in (GRR, OUE):
            exact = exact_totals(joint, [kind(k, e) for k, e in zip((2, 3, 3), (1.0, 0.5, 0.8), strict=True)])
            assert all(e <= total.epsilon + 1e-9 for e, total in zip(exact, found.totals, strict=True))


def test_large_domains_at_the_leaves_stay_exact() -> None:
    rng = np.random.default_rng(13)
    prior, joint = _random_tree(rng, (2, 20))
    found = tree_leakage(prior, [GRR(2, 1.0), OUE(20, 1.0)])
    # OUE reaches every set, so the leaf's CPL is that of Algorithm 2. The 2^20 outputs need not be listed.
    rows = joint / joint.sum(axis=1, keepdims=True)
    order = [np.argsort(-rows[x] / rows[1 - x]) for x in (0, 1)]
    worst = max(
        math.log1p(rows[x, s].sum() * math.expm1(1)) - math.log1p(rows[1 - x, s].sum() * math.expm1(1))
        for x in (0, 1)
        for s in (order[x][:size] for size in range(21))
    )
    assert found.totals[0].status == "exact"
    assert found.totals[0].epsilon == pytest.approx(1 + worst, abs=1e-9)
    assert found.totals[1].status == "exact"


def test_the_learned_tree_is_the_likeliest() -> None:
    generator = SimulationRandomness(3).generator
    records = generator.integers(0, 2, size=(400, 5))
    records[:, 1] = records[:, 0] ^ (generator.random(400) < 0.1)
    records[:, 3] = records[:, 1] ^ (generator.random(400) < 0.2)
    records[:, 4] = (records[:, 0] & records[:, 2]) ^ (generator.random(400) < 0.1)
    counts = PairCounts.of(records.astype(np.uint8), (2,) * 5)

    def information(i: int, j: int) -> float:
        """Compute the information from its definition, with a loop over cells."""
        total = 0.0
        for a, b in itertools.product((0, 1), repeat=2):
            both = float(np.mean((records[:, i] == a) & (records[:, j] == b)))
            total += both * math.log(both / (np.mean(records[:, i] == a) * np.mean(records[:, j] == b)))
        return total

    def is_tree(edges: tuple[tuple[int, int], ...]) -> bool:
        reached = {0}
        for _ in range(5):
            reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
        return len(reached) == 5

    trees = [e for e in itertools.combinations(itertools.combinations(range(5), 2), 4) if is_tree(e)]
    assert len(trees) == 125  # Cayley's formula gives 5^3
    best = max(trees, key=lambda edges: sum(information(i, j) for i, j in edges))
    assert chow_liu_edges(counts) == tuple(sorted(best))
    for i, j in best:
        assert counts.mutual_information(i, j) == pytest.approx(information(i, j), abs=1e-12)


@pytest.mark.parametrize(
    ("edges", "tables", "message"),
    [
        (((0, 1),), (PAIR,), "must connect all 3 attributes in a tree with 2 edges, got 1"),
        (((0, 1), (1, 0)), (PAIR, PAIR), r"must form a tree of the attributes 0..2, but the edge \(1, 0\) closes"),
        (((0, 1), (1, 3)), (PAIR, PAIR), r"but the edge \(1, 3\) closes"),
        (((0, 1), (1, 2)), (PAIR,), r"one entry for each of the 2 edges, got 1"),
        (((0, 1), (1, 2)), (PAIR, np.full((2, 3), 1 / 6)), r"must have shape \(2, 2\), got shape=\(2, 3\)"),
        (((0, 1), (1, 2)), (PAIR, PAIR * 0.9), r"table of edge \(1, 2\) must sum to one"),
        (
            ((0, 1), (1, 2)),
            (PAIR, np.array([[0.6, 0.1], [0.1, 0.2]])),
            "tables must agree about the probabilities of attribute 1",
        ),
        (((0, 1), (1, 2)), (PAIR, np.array([[0.5, 0], [0.5, 0]])), "category 1 of attribute 2 has the probability 0"),
    ],
)
def test_bad_trees_are_named(edges: Any, tables: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TreePrior((2, 2, 2), edges, tables)
