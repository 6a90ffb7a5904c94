"""Quotations of results in docs/theory/leakage.md (see `experiments.pages`)."""

from __future__ import annotations

from experiments.pages import FOLDER, Page, Results, setting, traced

PAPERS_TABLES = Results(FOLDER / "results" / "cpl")
"""Tables of docs/papers/cpl.md."""


def _sums(_: Results) -> list[str]:
    """Return the counter-examples, from the tables of the paper's page."""
    pair = "CPL, GRR, epsilon 1: CelebA, {} <- {}"
    one, other = (
        PAPERS_TABLES.number("observations", "measured", ".2f", figure=pair.format(*names))
        for names in (("Bald", "Male"), ("Male", "Bald"))
    )
    xor = PAPERS_TABLES.number("additive", "exact", ".4f", joint="exclusive or of two fair bits")
    hidden = PAPERS_TABLES.number(
        "additive", "exact", ".1f", joint="hidden among 20 neighbours, by the neighbours alone"
    )
    faces = PAPERS_TABLES.rows("additive", joint="CelebA: Young <- Chubby, Double_Chin")[0]
    exact, added = (traced(float(faces[key]), ".3f") for key in ("exact", "additive figure (not a bound)"))
    return [
        f"the CPL about bald is {one} nats",
        f"the CPL about male is only {other} nats",
        f"1 + ln cosh 1 = {xor}",
        f"For n = {setting('20')} and epsilon = 1 this is {hidden} nats. The epsilons of the {setting('20')} reports "
        f"add up to {setting('20')}, so more than {setting('20')} nats",
        f"young together tell {exact} nats about young, but the sum is only {added}",
    ]


def _costs(results: Results) -> list[str]:
    exact = results.number("theory-calibrated", "epsilon", ".3f", criterion="exact")
    added = results.number("theory-calibrated", "exact total", ".4f", criterion="additive")
    small, large = (
        [results.number("theory-cost", column, ".1f", binary_attributes=d) for column in ("seconds", "GiB")]
        for d in (21, 24)
    )
    return [
        f"returns epsilon = 1, and then the exact total is {added}. The criterion `exact` returns epsilon = {exact}",
        f"{setting('21')} binary attributes takes {small[0]} seconds of one core and {small[1]} GiB. "
        f"With {setting('24')} binary attributes, the computation takes {large[0]} seconds and {large[1]} GiB",
    ]


PAGE = Page(
    "leakage",
    (_sums, _costs),
    stated={
        "Differential Privacy (2025)": "the paper's year",
        "every single output has a probability of at most .001": "a thousand stamps",
        "The labels of 202,599 faces": "the number of rows of CelebA",
        "at most 26 binary attributes. A table of 26": "`MAX_TOTAL_STATES`",
        "and memory of a table of 24": "the larger of the two examples",
        "(Chow, Liu 1968)": "a reference",
        "Oh, Viswanath 2015)": "a reference",
        "For up to 10 attributes": "`MAX_EXHAUSTIVE`",
        "below 5% of the records": "`RARE_SHARE`",
        "less than .8 times the unmerged figure": "`_DECIDES` of rare_categories.py",
        "a busy 2.6 GHz machine": "the machine",
        "figure of 0.1 changes odds by a factor of at most 1.11": "e^.1 = 1.105",
    },
    pictures={},
    paper="cpl",
    theory=True,
)
