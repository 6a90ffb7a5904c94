"""Mechanisms for one attribute, one family per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.oracles.comparators.apple import AppleCMS as AppleCMS
    from deniable.oracles.comparators.apple_hadamard import AppleHCMS as AppleHCMS
    from deniable.oracles.comparators.exponential import Exponential as Exponential
    from deniable.oracles.comparators.hadamard import HadamardEncoding as HadamardEncoding
    from deniable.oracles.comparators.projective_geometry import PGR as PGR
    from deniable.oracles.comparators.recursive_hadamard import RecursiveHadamard as RecursiveHadamard
    from deniable.oracles.grr import GRR as GRR
    from deniable.oracles.histogram import SHE as SHE
    from deniable.oracles.histogram_threshold import THE as THE
    from deniable.oracles.rappor import RAPPOR as RAPPOR
    from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch as CountMeanSketch
    from deniable.oracles.sketch.heavy_hitters import HeavyHitters as HeavyHitters
    from deniable.oracles.sketch.local_hashing import BLH as BLH, OLH as OLH
    from deniable.oracles.sketch.ocms import (
        OCMS as OCMS,
        SketchChoice as SketchChoice,
        SketchOption as SketchOption,
        ocms_choice as ocms_choice,
    )
    from deniable.oracles.sketch.query_sketch import QuerySketch as QuerySketch
    from deniable.oracles.square_wave import SquareWave as SquareWave
    from deniable.oracles.subset import SubsetSelection as SubsetSelection
    from deniable.oracles.unary import OUE as OUE, SUE as SUE
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.oracles.comparators.apple": "AppleCMS",
            "deniable.oracles.comparators.apple_hadamard": "AppleHCMS",
            "deniable.oracles.sketch.count_mean_sketch": "CountMeanSketch",
            "deniable.oracles.comparators.exponential": "Exponential",
            "deniable.oracles.grr": "GRR",
            "deniable.oracles.comparators.hadamard": "HadamardEncoding",
            "deniable.oracles.sketch.heavy_hitters": "HeavyHitters",
            "deniable.oracles.histogram": "SHE",
            "deniable.oracles.histogram_threshold": "THE",
            "deniable.oracles.sketch.local_hashing": "BLH OLH",
            "deniable.oracles.sketch.ocms": "OCMS SketchChoice SketchOption ocms_choice",
            "deniable.oracles.comparators.projective_geometry": "PGR",
            "deniable.oracles.sketch.query_sketch": "QuerySketch",
            "deniable.oracles.rappor": "RAPPOR",
            "deniable.oracles.comparators.recursive_hadamard": "RecursiveHadamard",
            "deniable.oracles.square_wave": "SquareWave",
            "deniable.oracles.subset": "SubsetSelection",
            "deniable.oracles.unary": "OUE SUE",
        },
    )
