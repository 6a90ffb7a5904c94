from . import (
    adversary as adversary,
    baselines as baselines,
    dealt as dealt,
    families as families,
    records as records,
)
