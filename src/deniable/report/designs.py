"""Designs as pages: estimates from counts, and the cards of an instrument to print."""

from __future__ import annotations

import math

from deniable.core.privacy import bound_text
from deniable.designs import AnchorEstimate, Design, DesignEstimate, Figure, Instrument, SampleEstimate
from deniable.report.page import Card, Page, Section
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text


def design_page(design: Design, found: DesignEstimate) -> Page:
    """Return the page of an estimate from counts: first the evidence that a report can give, then the shares.

    Examples
    --------
    >>> from deniable import designs
    >>> crosswise = designs.crosswise("2/12")
    >>> page = design_page(crosswise, crosswise.estimate_counts([788, 212]))
    >>> page.sections[0].parts[0].cells(0)
    ('prevalence', '0.068', '0.0194', '0.032 to 0.108')
    """
    names = ["prevalence"] if design.k == 2 else [f"answer {truth}" for truth in range(design.k)]
    rows = [1] if design.k == 2 else list(range(design.k))
    figures = [
        Figure(*(float(column[row]) for column in (found.shares, found.standard_errors, found.lower, found.upper)))
        for row in rows
    ]
    notes = ("Shares are raw and unbiased. They may lie below 0 or above 1.",)
    return _page(design, [*zip(names, figures, strict=True)], found.n, found.confidence, found.warnings, notes)


def anchor_page(design: Design, found: AnchorEstimate, n: int, confidence: float) -> Page:
    """Return the page of a crosswise estimate with an anchor question.

    Examples
    --------
    >>> from deniable import designs
    >>> found = designs.crosswise_anchor("3/20", "3/20").estimate(1116, 311, 425, 148)
    >>> page = anchor_page(designs.crosswise("3/20"), found, 2000, 0.95)
    >>> [page.sections[0].parts[0].cells(row)[:2] for row in range(3)]
    [('naive', '0.195'), ('attentive', '0.773'), ('corrected', '0.105')]
    """
    rows = [("naive", found.naive), ("attentive", found.attentive), ("corrected", found.corrected)]
    notes = (
        "The correction assumes that people attend to both questions alike, whatever their answer, and that nobody "
        "carries the trait of the anchor.",
        "An answer to the anchor reveals whether its innocuous statement is true: use a fact that may be known.",
    )
    return _page(design, rows, n, confidence, (), notes)


def sample_page(design: Design, found: SampleEstimate, confidence: float) -> Page:
    """Return the page of a weighted prevalence.

    Examples
    --------
    >>> from deniable import designs
    >>> one_die, villages = designs.forced("1/6", "1/6"), [0, 0, 1, 1, 2, 2, 3, 3]
    >>> found = designs.estimate_sample(one_die, [0, 1, 0, 0, 1, 0, 0, 1], [1, 2, 1, 2, 1, 2, 1, 2], psus=villages)
    >>> sample_page(one_die, found, 0.95).sections[0].parts[0].cells(0)[:3]
    ('prevalence', '0.375', '0.2394')
    """
    notes = (
        f"The sample is as precise as {found.effective_n:,.0f} people of a simple random sample: design effect "
        f"{found.design_effect:.2f}, {found.degrees} degrees of freedom. The weighted number of carriers is "
        f"{found.total:,.1f}.",
        "The prevalence is raw and unbiased. It may lie below 0 or above 1.",
    )
    return _page(design, [("prevalence", found.prevalence)], found.n, confidence, found.warnings, notes)


def _page(
    design: Design,
    rows: list[tuple[str, Figure]],
    n: int,
    confidence: float,
    warnings: tuple[str, ...],
    notes: tuple[str, ...],
) -> Page:
    trust = f"This holds if {design.privacy().trust_models[0].note}."
    headline = f"epsilon = {bound_text(design.epsilon)}" if math.isfinite(design.epsilon) else "no epsilon holds"
    brief = f"Guarantee: {headline}, on the design's conditions"
    promise = Card(headline, (*design.sentences, trust), promise=True, brief=brief)
    cards = (promise, *(Card(warning, warning=True) for warning in warnings))
    # An exact interval that contains no share from 0 to 1 was clipped to a single number.
    intervals = [
        "none"
        if figure.lower == figure.upper and not 0 <= figure.value <= 1
        else f"{figure.lower:.3f} to {figure.upper:.3f}"
        for _, figure in rows
    ]
    if "none" in intervals:
        notes = (*notes, "There is no interval, because no share from 0 to 1 agrees with these reports.")
    columns = [
        [name for name, _ in rows],
        [f"{figure.value:.3f}" for _, figure in rows],
        [f"{figure.standard_error:.4f}" for _, figure in rows],
        intervals,
    ]
    header = ("share", "estimate", "std. error", f"{100 * confidence:g}% interval")
    return Page(
        f"{design.design}, {design.settings}: {n:,} reports",
        cards,
        (Section("Estimates", (Table.of(header, columns),)),),
        notes,
    )


def instrument_page(instrument: Instrument) -> Page:
    """Return the cards of an instrument as a page to print.

    Examples
    --------
    >>> from deniable import designs
    >>> page = instrument_page(designs.warner("5/6").instrument("I have paid a bribe."))
    >>> [section.heading for section in page.sections]
    ['Card for the respondent', 'Script for the interviewer', 'Device', 'Odds, for the organiser']
    """
    parts = (
        ("Card for the respondent", instrument.card),
        ("Script for the interviewer", instrument.script),
        ("Device", instrument.device),
        ("Odds, for the organiser", instrument.odds),
    )
    sections = tuple(Section(heading, (Text(lines),)) for heading, lines in parts)
    return Page(instrument.question, (), sections, introduction=(instrument.design,))
