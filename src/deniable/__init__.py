"""Local differential privacy: from randomised answers to frequencies with honest error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from deniable.core.aggregate import Aggregate as Aggregate
    from deniable.core.construction import mechanism as mechanism
    from deniable.core.estimate import Estimate as Estimate, RecordEstimate as RecordEstimate
    from deniable.core.mechanism import Mechanism as Mechanism
    from deniable.core.privacy import Guarantee as Guarantee, TrustModel as TrustModel
    from deniable.core.randomness import (
        SecureRandomness as SecureRandomness,
        SimulationRandomness as SimulationRandomness,
    )
    from deniable.dealt.quota.quota_rr import QuotaRR as QuotaRR
    from deniable.errors import DeniableError as DeniableError
    from deniable.oracles.grr import GRR as GRR
    from deniable.oracles.rappor import RAPPOR as RAPPOR
    from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch as CountMeanSketch
    from deniable.oracles.sketch.heavy_hitters import HeavyHitters as HeavyHitters
    from deniable.oracles.sketch.local_hashing import OLH as OLH
    from deniable.oracles.sketch.ocms import OCMS as OCMS
    from deniable.oracles.subset import SubsetSelection as SubsetSelection
    from deniable.oracles.unary import OUE as OUE, SUE as SUE
    from deniable.planning import plan as plan, recommend as recommend
    from deniable.planning.default import collection as collection
    from deniable.records.fake_data import RSFD as RSFD
    from deniable.records.pivot.corr_rr import CorrRR as CorrRR
    from deniable.records.sample import SMP as SMP, AdaptiveSMP as AdaptiveSMP
    from deniable.records.split import SPL as SPL
    from deniable.survey.collection import Collection as Collection
    from deniable.survey.dictionary import Dictionary as Dictionary, fingerprint as fingerprint
    from deniable.survey.dictionary_file import read_dictionary as read_dictionary
    from deniable.survey.drafting import draft_schema as draft_schema
    from deniable.survey.schema import Attribute as Attribute, Schema as Schema
else:
    from deniable.core.lazy import attach

    _own, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.core.aggregate": "Aggregate",
            "deniable.survey.collection": "Collection",
            "deniable.core.construction": "mechanism",
            "deniable.dealt.quota.quota_rr": "QuotaRR",
            "deniable.survey.dictionary": "Dictionary fingerprint",
            "deniable.survey.dictionary_file": "read_dictionary",
            "deniable.survey.drafting": "draft_schema",
            "deniable.errors": "DeniableError",
            "deniable.core.estimate": "Estimate RecordEstimate",
            "deniable.core.mechanism": "Mechanism",
            "deniable.oracles.sketch.count_mean_sketch": "CountMeanSketch",
            "deniable.oracles.grr": "GRR",
            "deniable.oracles.sketch.heavy_hitters": "HeavyHitters",
            "deniable.oracles.sketch.local_hashing": "OLH",
            "deniable.oracles.sketch.ocms": "OCMS",
            "deniable.oracles.rappor": "RAPPOR",
            "deniable.oracles.subset": "SubsetSelection",
            "deniable.oracles.unary": "OUE SUE",
            "deniable.planning": "plan recommend",
            "deniable.planning.default": "collection",
            "deniable.core.privacy": "Guarantee TrustModel",
            "deniable.core.randomness": "SecureRandomness SimulationRandomness",
            "deniable.records.fake_data": "RSFD",
            "deniable.records.pivot.corr_rr": "CorrRR",
            "deniable.records.sample": "AdaptiveSMP SMP",
            "deniable.records.split": "SPL",
            "deniable.survey.schema": "Attribute Schema",
        },
        (
            "answers",
            "dealt",
            "errors",
            "files",
            "leakage",
            "oracles",
            "planning",
            "postprocess",
            "records",
            "report",
            "testing",
        ),
    )

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("deniable")
        return _own(name)
