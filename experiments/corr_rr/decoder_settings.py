"""Settings of the decoder's experiments: used to choose it, used to develop it, and held out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from experiments.harness import Cell

GENERATORS = ("as_described", "equal_marginals")
PAPER_EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5)


def choosing() -> list[Cell]:
    """Return the settings used to choose the decoder: tables and figures of both versions, and their data.

    Settings of the second version have both generators. Settings of the first version are taken as described. Phase one
    always has a tenth of the contributors, so that the cells of a table's row are one setting.
    """
    second = [(n, 2, 4, 0.1, e) for n, e in product((200, 2000, 20_000), (0.1, 0.3, 0.5))]  # Tables 4-9
    second += [(20_000, 4, 4, rho, e) for rho, e in product((0.1, 0.5, 0.9), PAPER_EPSILONS)]  # Figures 3, 4
    second += [(20_000, d, 4, rho, e) for d, rho, e in product(range(2, 7), (0.1, 0.9), (0.1, 0.3, 0.5))]  # 5 f., 13 f.
    second += [(20_000, d, 4, rho, 0.5) for d, rho in product((2, 3, 4), (0.1, 0.3, 0.5, 0.7, 0.9))]  # Figures 7, 8
    first = [(10_000, d, k, rho, e) for d, k, rho, e in product((2, 4), (2, 10), (0.1, 0.5, 0.9), range(1, 6))]  # 4-7
    first += [(10_000, d, 2, rho, e) for d, rho, e in product(range(2, 7), (0.1, 0.9), (1, 3, 5))]  # Figures 8, 9
    first += [(10_000, d, 10, 0.5, e) for d, e in product(range(2, 7), (1, 3, 5))]  # Figure 10
    first += [(10_000, 6, 10, rho, e) for rho, e in product((0.1, 0.3, 0.5, 0.7, 0.9), (1, 3, 5))]  # Figure 13
    rows = [
        ("second version", data, source, row) for data, source, row in product(("SynA", "SynB"), GENERATORS, second)
    ]
    rows += [("first version", "SynA", "as_described", row) for row in first]
    synthetic: list[Cell] = [
        {"family": family, "data": data, "source": source, "n": n, "sizes": [k] * d, "rho": rho, "epsilon": float(e)}
        for family, data, source, (n, d, k, rho, e) in rows
    ]
    real = [
        {"family": "real data", "file": name, "columns": columns, "epsilon": e} | merged
        for name, columns, merged in (
            ("adult.csv.gz", [["sex"], ["marital-status"], ["relationship"]], {"merge": 2}),
            ("mushroom.csv", [["stalk-root"], ["ring-type"]], {}),
            ("firm_teacher_clave.csv", [["v1", "v2"]], {}),
        )
        for e in PAPER_EPSILONS
    ]
    return _distinct([cell | {"sample": 0} for cell in synthetic + real])


# ---------------------------------------------------------------- fresh synthetic settings

KINDS = ("independent", "alike", "classes", "copies")


def drawn(number: int, seed: int) -> list[Cell]:
    """Return random settings (sizes, n, epsilon and kind of population) that were not used for the decoder.

    d is in 2..8. k is in 2..20, in every other setting the same for all attributes. n is in 500..10^6 and epsilon in
    0.1..5, both log-uniform. Kinds take turns.
    """
    rng = np.random.default_rng(seed)
    cells: list[Cell] = []
    for i in range(number):
        d = int(rng.integers(2, 9))
        sizes = [int(k) for k in rng.integers(2, 21, d)]
        cell: Cell = {
            "source": KINDS[i // 2 % len(KINDS)],
            "sizes": sizes if i % 2 else [sizes[0]] * d,
            "n": round(float(np.exp(rng.uniform(np.log(500), np.log(1e6))))),
            "epsilon": round(float(np.exp(rng.uniform(np.log(0.1), np.log(5)))), 2),
            "alpha": float(rng.choice([0.1, 0.3, 1.0, 3.0])),
            "closeness": float(rng.choice([5.0, 30.0, 200.0])),
            "classes": int(rng.integers(2, 6)),
            "rho": round(float(rng.uniform(0.2, 0.95)), 2),
            "sample": seed,
        }
        used = {"alike": ("closeness",), "classes": ("classes",), "copies": ("rho",)}.get(cell["source"], ())
        dropped = {"closeness", "classes", "rho"} - set(used)
        cells.append({name: value for name, value in cell.items() if name not in dropped})
    return cells


def development() -> list[Cell]:
    """Return settings for choosing between decoders: random ones, spikes, and views of data that are not held out."""
    views: list[tuple[str, list[list[str]]]] = [
        ("fair_affairs.csv", [["rate_marriage"], ["religious"], ["occupation", "occupation_husb"]]),
        ("fair_affairs.csv", [["age"], ["yrs_married"], ["children"], ["educ"]]),
        ("womens_clothing.csv", [["Rating"], ["Recommended IND"], ["Department Name"], ["Class Name"]]),
        ("cardio_train.csv.gz", [["cholesterol", "gluc"], ["smoke", "alco", "active", "cardio"]]),
        ("cardio_train.csv.gz", [["smoke", "alco", "active", "cardio"]]),
        ("nursery.csv", [["parents"], ["has_nurs"], ["form"], ["children"], ["housing"], ["finance"], ["social"]]),
    ]
    real: list[Cell] = [
        {"file": name, "columns": columns, "epsilon": e, "sample": 0}
        for name, columns in views
        for e in (0.2, 1.0, 3.0)
    ]
    return drawn(64, seed=2001) + real


LARGE = (16, 64, 256)
_COLLECTIONS = ((1, 10_000), (4, 2000), (4, 200_000))
"""Attributes and contributors."""


def _over_large_domains(kinds: Iterable[Cell], collections: Iterable[tuple[int, int]], sample: int) -> list[Cell]:
    return [
        kind | {"sizes": [k] * d, "n": n, "epsilon": epsilon, "sample": sample}
        for kind, k, (d, n), epsilon in product(kinds, LARGE, collections, (0.5, 1.0, 4.0))
    ]


def large_development() -> list[Cell]:
    """Return the settings used to develop the models of a dominant category."""
    kinds: list[Cell] = [{"source": "independent", "alpha": alpha} for alpha in (0.03, 0.3, 1.0)]
    kinds += [{"source": "alike", "alpha": 0.3, "closeness": 30.0}]
    kinds += [{"source": "spike", "alpha": 0.3, "share": share} for share in (0.5, 0.9, 0.98, 0.995)]
    kinds += [{"source": "spike", "alpha": 0.03, "share": share} for share in (0.7, 0.95, 0.99)]
    return _over_large_domains(kinds, (_COLLECTIONS[0], _COLLECTIONS[2]), 77)


def large() -> list[Cell]:
    """Return held-out settings over large domains: new populations, and new shares of the dominant category."""
    kinds: list[Cell] = [{"source": "independent", "alpha": alpha} for alpha in (0.1, 1.0)]
    kinds += [{"source": "alike", "alpha": 1.0, "closeness": 100.0}]
    kinds += [{"source": "zipf", "power": power} for power in (1.0, 1.5)]
    kinds += [{"source": "spike", "alpha": 0.1, "share": share} for share in (0.6, 0.93, 0.997)]
    kinds += [{"source": "spike", "alpha": 1.0, "share": share} for share in (0.8, 0.97, 0.985)]
    return _over_large_domains(kinds, _COLLECTIONS, 31_337)


# ---------------------------------------------------------------- held out

_BRFSS_FLAGS = [
    ["HighBP", "HighChol", "CholCheck", "Smoker"],
    ["Stroke", "HeartDiseaseorAttack", "PhysActivity", "Fruits", "Veggies", "HvyAlcoholConsump"],
    ["AnyHealthcare", "NoDocbcCost"],
    ["Diabetes_binary", "HighBP", "HighChol", "Stroke", "DiffWalk", "Smoker", "Fruits", "PhysActivity"],
]
_DRUGS = [
    ["alcohol", "amphet", "amyl", "benzos"],
    ["caff", "cannabis"],
    ["coke", "crack", "ecstasy", "heroin", "ketamine", "legalh"],
    ["lsd", "meth", "mushrooms", "nicotine", "vsa", "choc", "cannabis", "coke"],
]
_VIEWS: list[tuple[str, list[list[str]]]] = [
    *(("brfss2015_health.csv.gz", [flags]) for flags in _BRFSS_FLAGS),
    ("brfss2015_health.csv.gz", [["GenHlth"], ["Age"], ["Education"], ["Income"]]),
    ("brfss2015_health.csv.gz", [["Sex"], ["Income"], ["HighBP", "DiffWalk"]]),
    *(("drug_consumption.csv", [drugs]) for drugs in _DRUGS),
    ("drug_consumption.csv", [["age"], ["gender"], ["education"], ["alcohol", "nicotine"]]),
    ("acs_employment_montana.csv", [["DIS", "DEAR", "DEYE"], ["SEX"], ["NATIVITY"]]),
    ("acs_employment_montana.csv", [["MAR"], ["CIT"], ["MIL"], ["ESR"]]),
    ("acs_employment_montana.csv", [["RELP"], ["RAC1P"], ["SEX"]]),
    ("acs_employment_montana.csv", [["SCHL"], ["ESP"], ["MIG"], ["ANC"], ["GCL"], ["DREM"]]),
]


def held_out() -> list[Cell]:
    """Return the held-out settings: 100 random ones, and three budgets for each view of real data."""
    budgets = ((0.1, 1.0, 4.0), (0.3, 0.7, 2.0))
    real: list[Cell] = []
    for i, (name, columns) in enumerate(_VIEWS):
        merged = {"merge": 20} if name.startswith("acs") else {}
        real += [{"file": name, "columns": columns, "epsilon": e, "sample": 0} | merged for e in budgets[i % 2]]
    real += [
        {"file": "brfss2015_health.csv.gz", "columns": [flags], "epsilon": e, "sample": 7, "n": n}
        for flags, e, n in zip(_BRFSS_FLAGS, (2.0, 0.5, 1.0, 0.5), (500, 2000, 10_000, 50_000), strict=True)
    ]
    return drawn(100, seed=31_337) + real


def _distinct(cells: Iterable[Cell]) -> list[Cell]:
    return list({repr(cell): cell for cell in cells}.values())
