"""Quotations of results in docs/theory/jrr.md (see `experiments.pages`)."""

from __future__ import annotations

from experiments.jrr.page import ALG, OPT
from experiments.jrr.paper import EPSILONS
from experiments.pages import FOLDER, Page, Results, number_of, setting, traced

PAPERS_TABLES = Results(FOLDER / "results" / "jrr")
"""Tables of docs/papers/jrr.md."""


def _adversaries(results: Results) -> list[str]:
    def one(epsilon: float, n: int = 10_000) -> dict[str, str]:
        return results.rows("theory-adversaries", n=n, epsilon=epsilon)[0]

    # Each row has enough digits to differ from no effect. The smallest ratio needs four.
    specs = {"my report": ".3f", "base rate": ".3f", "RR at base rate": ".2f", "others' data": ".3f",
             "RR at others' data": ".2f", "others' data, delta 0": ".3f", "of RR": ".3f"}  # fmt: skip
    special = {(0.01, "my report"): ".4f", (0.01, "RR at base rate"): ".3f", (0.01, "RR at others' data"): ".4f",
               (0.1, "my report"): ".4f"}  # fmt: skip
    quotes = []
    for epsilon in (0.01, 0.1, 0.5, 1.0):
        row = one(epsilon)
        cells = [number_of(row, column, special.get((epsilon, column), spec)) for column, spec in specs.items()]
        quotes.append(f"| {setting(epsilon)} | {' | '.join(cells)} |")
    tenth, many = one(0.1), one(0.1, 10**6)
    known, error = number_of(tenth, "others' data", ".3f"), number_of(tenth, "of RR", ".3f")
    worth = max(float(row["epsilon"]) for row in results.rows("theory-adversaries", n=10_000)
                if float(row["epsilon"]) not in (0.01, 0.1, 0.5, 1.0))  # fmt: skip
    quotes.append(
        f"take the nominal epsilon {setting(0.1)}. JRR's variance is {error} times the variance of RR at "
        f"epsilon {setting(0.1)}. Against an adversary who knows the others' answers, JRR has epsilon {known}. RR with "
        f"epsilon {known} has"
    )
    theirs, ratio = number_of(many, "others' data", ".3f"), number_of(many, "RR at others' data", ".1f")
    quotes.append(
        f"JRR is worth its dealer if the nominal epsilon is at least about {traced(worth, '.2f')}. With more "
        f"contributors, JRR is worth its dealer at smaller epsilons, too. At n = 10^6 and the nominal epsilon "
        f"{setting(0.1)}, the adversary's epsilon is {theirs}. RR at epsilon {theirs} has {ratio} times JRR's variance"
    )
    return quotes


def _caps(results: Results) -> list[str]:
    quotes = []
    for row in results.rows("theory-caps", method="JRR"):
        cap = setting(row["cap"] if row["cap"] == "none" else float(row["cap"]))
        cells = (number_of(row, "delta 0", ".3f"), number_of(row, "at delta", ".3f"), number_of(row, "of RR", ".3f"))
        quotes.append(f"| {cap} | {' | '.join(cells)} |")
    free, capped = (results.number("theory-caps", "of RR", ".3f", method="quota RR", cap=cap) for cap in ("none", 1))
    quotes.append(
        f"at epsilon = .1, theta = {setting(0.05)}. Its variance is {free} times the variance of RR. "
        f"Quota randomised response is *pure* (delta = {setting(0)}) against an adversary with all other data "
        "and all other shares. "
        f"With a cap of {setting(1)}, the variance of quota randomised response is {capped} times the variance of RR"
    )
    return quotes


def _optimum(results: Results) -> list[str]:
    return [
        f"| epsilon = {setting(float(row['epsilon']))}, M = {row['M']}, theta = {setting(float(row['theta']))} | "
        f"{number_of(row, ALG, '.3f')} | {number_of(row, OPT, '.3f')} |"
        for row in results.rows("theory-optimum")
    ]


def _lies(results: Results) -> list[str]:
    first, second = results.rows("theory-lies", n=6)[0], results.rows("theory-lies", n=4)[0]
    return [
        f"n = 6, m = 3, p = {setting(0.6)} and rho = {setting(-0.5)}. Our bound is epsilon "
        f"{number_of(first, 'bound', '.3f')}, and the exact epsilon is {number_of(first, 'truth', '.3f')}. "
        f"The paper's Theorem 2 gives "
        f"{number_of(first, 'Theorem 2', '.3f')}",
        f"n = 4, m = 2, p = {setting(0.6)}, rho = -2/3. Theorem 2 gives an epsilon of "
        f"{number_of(second, 'Theorem 2', '.3f')}, but the true epsilon is {number_of(second, 'truth', '.3f')}",
    ]


def _simulated(results: Results) -> list[str]:
    found = results.number("theory-pairs", "found", ".0%", rounds=30)
    return [f"this attack finds about {found} of the peers after {setting('30')} rounds"]


def _claims(_: Results) -> list[str]:
    """Return the page's statements about the paper's claims, from the tables of the paper's page."""
    found = PAPERS_TABLES
    excess = [found.value("fig-7", "RI", method=ALG, n=10_000, epsilon=epsilon) for epsilon in (0.001, 0.01, 0.1, 1.0)]
    wide = [found.number("fig-8", "R", ".0%", method=ALG, n=1_000, epsilon=epsilon) for epsilon in EPSILONS]
    worse = found.number("fig-5-thresholds", "Algorithm 1 worse from M", ".0f", epsilon=0.01)
    most = found.number("fig-5-thresholds", "largest excess", ".1%", epsilon=0.01)

    def own(column: str, spec: str, n: int, epsilon: float, m: int) -> str:
        return found.number("which-m-own-p", column, spec, n=n, epsilon=epsilon, M=m)

    return [
        f"| RI at n = 10,000 | {setting('less than 10^-4')} | {own('RI', '.3e', 10_000, 0.001, 0)} |",
        f"| RI at n = 5,000 | {found.number('which-m', 'paper', '.1e', id='8-RI', epsilon=1.0)} | "
        f"{own('RI', '.2e', 5_000, 1.0, 1)} (epsilon = 1, M up to 1) |",
        f"| R at n = 1,000 | {setting('less than 3%')} | {own('R', '.2%', 1_000, 1.0, 0)}, or "
        f"{own('R in whole counts', '.2%', 1_000, 1.0, 0)} in whole counts |",
        f"on, by {most} at most",
        f"M = 5: it is {traced(excess[0], '.1f')}, {traced(excess[1], '.3f')}, {traced(excess[2], '.4f')}, "
        f"{traced(excess[3], '.4f')} at epsilon = .001",
        f"R is {wide[0]}, {wide[1]}, {wide[2]} at epsilon = .01",
        f"worse from M = {worse} on",
        f"The exact ratio of the variances is {found.number('fig-3-claims', 'Algorithm 1', '.4f', id='4a')}.",
    ]


PAGE = Page(
    "jrr",
    (_adversaries, _caps, _optimum, _lies, _simulated, _claims),
    stated={
        "draws C in {1.5, .5, -.5, -1.5}": "the paper, section 4.5",
        "frequency theta = .05.": "a setting",
        "knows the base rate .05;": "a setting",
        "nominal epsilon .1 and theta = .05. The": "a setting",
        "delta = 0 | others' data known, delta = 10^-6": "a setting",
        "one 64-bit word": "`deniable.research.dealt.coupling.coins`; golden recordings",
        "ceil(2^64 (q - s))": "the same",
        "ceil(2^64 (q + s))": "the same",
        "rho within 10^-12 of the extreme": "`coins.coin`",
        "accurate to 1e-9. For more than about 10^6 contributors": "`coin_views`",
        'RI is "always less than" 10^-4 (5.3.5;': "the paper, section 5.3.5",
        "at most 3e-7 at n = 10,000": "`theorem2_as_printed` against the bound of the table",
        "But in section 4.2": "the paper",
        "a variance below 25": "`FEW` of support_counts.py",
        "theta = .1, n = 10,000, JRR is worse": "a setting",
        'at n = 1,000 "R is less than 3%"': "the paper, section 5.3.5",
    },
    pictures={},
    theory=True,
)
