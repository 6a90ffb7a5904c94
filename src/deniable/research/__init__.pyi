from . import (
    adversary as adversary,
    baselines as baselines,
    dealt as dealt,
    families as families,
    leakage as leakage,
    records as records,
)
