from . import (
    adversary as adversary,
    baselines as baselines,
    dealt as dealt,
    families as families,
    leakage as leakage,
    load_times as load_times,
    records as records,
)
