"""Audits of a collection."""

from __future__ import annotations

from deniable import Attribute, Collection, Schema, SimulationRandomness
from deniable.leakage.adversary.collection_audit import audit_collection
from deniable.records.pair_sample import PairSample


def test_an_audit_asks_pair_by_pair() -> None:
    schema = Schema((Attribute("a", ("x", "y")), Attribute("b", ("x", "y")), Attribute("c", ("x", "y"))))
    for singles, subjects in (("0", ["a x b", "b x c"]), ("0.5", ["a x b", "b x c", "b"])):
        collection = Collection(schema, PairSample(schema.sizes, 1.0, singles))
        found = audit_collection(collection, ["b"], rng=SimulationRandomness(1))
        assert [name for name, _ in found.found] == subjects
        assert not found.refuted
