"""Mechanisms for one attribute, one family per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.mechanisms.apple import AppleCMS as AppleCMS
    from deniable.mechanisms.apple_hadamard import AppleHCMS as AppleHCMS
    from deniable.mechanisms.count_mean_sketch import CountMeanSketch as CountMeanSketch
    from deniable.mechanisms.exponential import Exponential as Exponential
    from deniable.mechanisms.grr import GRR as GRR
    from deniable.mechanisms.hadamard import HadamardEncoding as HadamardEncoding
    from deniable.mechanisms.heavy_hitters import HeavyHitters as HeavyHitters
    from deniable.mechanisms.histogram import SHE as SHE
    from deniable.mechanisms.histogram_threshold import THE as THE
    from deniable.mechanisms.local_hashing import BLH as BLH
    from deniable.mechanisms.local_hashing import OLH as OLH
    from deniable.mechanisms.ocms import OCMS as OCMS
    from deniable.mechanisms.ocms import SketchChoice as SketchChoice
    from deniable.mechanisms.ocms import SketchOption as SketchOption
    from deniable.mechanisms.ocms import ocms_choice as ocms_choice
    from deniable.mechanisms.projective_geometry import PGR as PGR
    from deniable.mechanisms.query_sketch import QuerySketch as QuerySketch
    from deniable.mechanisms.rappor import RAPPOR as RAPPOR
    from deniable.mechanisms.recursive_hadamard import RecursiveHadamard as RecursiveHadamard
    from deniable.mechanisms.subset import SubsetSelection as SubsetSelection
    from deniable.mechanisms.unary import OUE as OUE
    from deniable.mechanisms.unary import SUE as SUE
else:
    from deniable.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.mechanisms.apple": "AppleCMS",
            "deniable.mechanisms.apple_hadamard": "AppleHCMS",
            "deniable.mechanisms.count_mean_sketch": "CountMeanSketch",
            "deniable.mechanisms.exponential": "Exponential",
            "deniable.mechanisms.grr": "GRR",
            "deniable.mechanisms.hadamard": "HadamardEncoding",
            "deniable.mechanisms.heavy_hitters": "HeavyHitters",
            "deniable.mechanisms.histogram": "SHE",
            "deniable.mechanisms.histogram_threshold": "THE",
            "deniable.mechanisms.local_hashing": "BLH OLH",
            "deniable.mechanisms.ocms": "OCMS SketchChoice SketchOption ocms_choice",
            "deniable.mechanisms.projective_geometry": "PGR",
            "deniable.mechanisms.query_sketch": "QuerySketch",
            "deniable.mechanisms.rappor": "RAPPOR",
            "deniable.mechanisms.recursive_hadamard": "RecursiveHadamard",
            "deniable.mechanisms.subset": "SubsetSelection",
            "deniable.mechanisms.unary": "OUE SUE",
        },
    )
