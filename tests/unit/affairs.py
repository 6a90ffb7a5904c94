"""Counts of the answers of the example survey."""

from __future__ import annotations

# These were counted independently, by pandas, from the data set that statsmodels 0.15 ships.
TRUTH = {
    "affairs": [4313, 934, 798, 321],
    "rate_marriage": [99, 348, 993, 2242, 2684],
    "religious": [1021, 2267, 2422, 656],
    "age": [139, 1800, 1931, 1069, 634, 793],
    "educ": [48, 2084, 2277, 1117, 510, 330],
    "occupation": [41, 859, 2783, 1834, 740, 109],
}

N = 6366
