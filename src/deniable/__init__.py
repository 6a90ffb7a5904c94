"""Local differential privacy: from randomised answers to frequencies with honest error bars."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from deniable.aggregate import Aggregate as Aggregate
    from deniable.collection import Collection as Collection
    from deniable.construction import mechanism as mechanism
    from deniable.dealt.quota.quota_rr import QuotaRR as QuotaRR
    from deniable.dictionary import Dictionary as Dictionary
    from deniable.dictionary import fingerprint as fingerprint
    from deniable.dictionary_file import read_dictionary as read_dictionary
    from deniable.drafting import draft_schema as draft_schema
    from deniable.errors import DeniableError as DeniableError
    from deniable.estimate import Estimate as Estimate
    from deniable.estimate import RecordEstimate as RecordEstimate
    from deniable.mechanism import Mechanism as Mechanism
    from deniable.mechanisms.count_mean_sketch import CountMeanSketch as CountMeanSketch
    from deniable.mechanisms.grr import GRR as GRR
    from deniable.mechanisms.heavy_hitters import HeavyHitters as HeavyHitters
    from deniable.mechanisms.local_hashing import OLH as OLH
    from deniable.mechanisms.ocms import OCMS as OCMS
    from deniable.mechanisms.rappor import RAPPOR as RAPPOR
    from deniable.mechanisms.subset import SubsetSelection as SubsetSelection
    from deniable.mechanisms.unary import OUE as OUE
    from deniable.mechanisms.unary import SUE as SUE
    from deniable.planning import plan as plan
    from deniable.planning import recommend as recommend
    from deniable.planning.default import collection as collection
    from deniable.privacy import Guarantee as Guarantee
    from deniable.privacy import TrustModel as TrustModel
    from deniable.randomness import SecureRandomness as SecureRandomness
    from deniable.randomness import SimulationRandomness as SimulationRandomness
    from deniable.records.fake_data import RSFD as RSFD
    from deniable.records.pivot.corr_rr import CorrRR as CorrRR
    from deniable.records.sample import SMP as SMP
    from deniable.records.sample import AdaptiveSMP as AdaptiveSMP
    from deniable.records.split import SPL as SPL
    from deniable.schema import Attribute as Attribute
    from deniable.schema import Schema as Schema
else:
    from deniable.lazy import attach

    _own, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.aggregate": "Aggregate",
            "deniable.collection": "Collection",
            "deniable.construction": "mechanism",
            "deniable.dealt.quota.quota_rr": "QuotaRR",
            "deniable.dictionary": "Dictionary fingerprint",
            "deniable.dictionary_file": "read_dictionary",
            "deniable.drafting": "draft_schema",
            "deniable.errors": "DeniableError",
            "deniable.estimate": "Estimate RecordEstimate",
            "deniable.mechanism": "Mechanism",
            "deniable.mechanisms.count_mean_sketch": "CountMeanSketch",
            "deniable.mechanisms.grr": "GRR",
            "deniable.mechanisms.heavy_hitters": "HeavyHitters",
            "deniable.mechanisms.local_hashing": "OLH",
            "deniable.mechanisms.ocms": "OCMS",
            "deniable.mechanisms.rappor": "RAPPOR",
            "deniable.mechanisms.subset": "SubsetSelection",
            "deniable.mechanisms.unary": "OUE SUE",
            "deniable.planning": "plan recommend",
            "deniable.planning.default": "collection",
            "deniable.privacy": "Guarantee TrustModel",
            "deniable.randomness": "SecureRandomness SimulationRandomness",
            "deniable.records.fake_data": "RSFD",
            "deniable.records.pivot.corr_rr": "CorrRR",
            "deniable.records.sample": "AdaptiveSMP SMP",
            "deniable.records.split": "SPL",
            "deniable.schema": "Attribute Schema",
        },
        ("answers", "dealt", "errors", "leakage", "planning", "postprocess", "records", "report", "testing"),
    )

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("deniable")
        # Transitional, until everybody imports from the namespaces.
        if not name.startswith("_") and name not in __all__:
            import importlib

            homes = "mechanisms records dealt planning postprocess errors dictionary_file randomness"
            for package in homes.split():
                try:
                    return getattr(importlib.import_module(f"deniable.{package}"), name)
                except (AttributeError, ImportError):
                    continue
        return _own(name)

    class _Door(ModuleType):
        """Transitional: the modules `mechanism` and `collection` do not take the places of the functions."""

        def __setattr__(self, name: str, value: object) -> None:
            if not (name in ("mechanism", "collection") and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Door
