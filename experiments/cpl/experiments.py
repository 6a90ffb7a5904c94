"""Import this module to register all experiments with `PAPER`, in the order in which ``all`` runs them."""

from experiments.cpl import (
    additive,
    adult_encodings,
    algorithms,
    attacks,
    calibration,
    choices,
    chosen,
    definitions,
    delta,
    encodings,
    mechanisms,
    observations,
    pairs,
    sampled,
    saturation,
    theory,
    wrong_prior,
)
from experiments.cpl.paper import PAPER

__all__ = [
    "PAPER",
    "additive",
    "adult_encodings",
    "algorithms",
    "attacks",
    "calibration",
    "choices",
    "chosen",
    "definitions",
    "delta",
    "encodings",
    "mechanisms",
    "observations",
    "pairs",
    "sampled",
    "saturation",
    "theory",
    "wrong_prior",
]
